/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

/* Classes: sN and fN stroke and fill of series N; hN fill of step N of heat maps, tN the text on it. */
static const char style[] =
	":root{color-scheme:light dark;--page:#f3f3f1;--card:#fcfcfb;--ink:#0b0b0b;--soft:#52514e;--line:#dcdbd6;"
	"--good:#0a7a0a;--info:#1f5fb0;--warning:#8a5a00;--critical:#b32020;--bar:#2a78d6;"
	"--s0:#2a78d6;--s1:#d9531e;--s2:#118a5c;--s3:#a87300;--s4:#c2487f;--s5:#4a3aa7;--s6:#4d7a00;--s7:#8a4b2a;"
	"--h0:#edf3fa;--h1:#cde2fb;--h2:#a5c9f4;--h3:#77abea;--h4:#4a8bdc;--h5:#256abf;--h6:#104281;"
	"--low:#0b0b0b;--high:#fff}\n"
	"@media screen and (prefers-color-scheme:dark){:root{--page:#0f0f0e;--card:#1a1a19;--ink:#f4f4f2;"
	"--soft:#b9b8b2;--line:#3a3a37;--good:#5fd05f;--info:#86b6ef;--warning:#f0b429;--critical:#ff7b7b;"
	"--bar:#3987e5;"
	"--s0:#4a94ee;--s1:#f0723f;--s2:#2fbd85;--s3:#d99a1c;--s4:#e8749f;--s5:#a49bf5;--s6:#93c03a;--s7:#d18f6a;"
	"--h0:#20262e;--h1:#16304f;--h2:#184574;--h3:#1f5b9c;--h4:#3578c4;--h5:#6ba4e6;--h6:#b7d3f6;"
	"--low:#f4f4f2;--high:#0b0b0b}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,-apple-system,'Segoe UI',"
	"'Liberation Sans','DejaVu Sans',sans-serif}\n"
	"main{max-width:2480px;margin:0 auto;padding:20px;overflow-wrap:anywhere}\n"
	".card{background:var(--card);border:1px solid var(--line);border-radius:8px;"
	"padding:16px 20px;margin:0 0 16px}\n"
	".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,660px),1fr));gap:12px 32px;"
	"align-items:start}\n"
	".pair>*{min-width:0}\n"
	"h1{font-size:17px;font-weight:600;margin:0 0 14px}\n"
	"h2{font-size:18px;margin:0 0 10px}\n"
	"p{margin:0 0 8px}ul{margin:6px 0;padding-left:20px}\n"
	".soft,figcaption{color:var(--soft);font-size:13px}\n"
	".verdict{border-left:8px solid var(--soft)}\n"
	".verdict .word{font-size:14px;font-weight:700;letter-spacing:.06em;text-transform:uppercase;margin:0 0 2px}\n"
	".verdict .sentence{font-size:25px;line-height:1.25;font-weight:600;margin:0}\n"
	".good{color:var(--good)}.info{color:var(--info)}.warning{color:var(--warning)}"
	".critical{color:var(--critical)}\n"
	".verdict.good{border-left-color:var(--good)}.verdict.info{border-left-color:var(--info)}"
	".verdict.warning{border-left-color:var(--warning)}.verdict.critical{border-left-color:var(--critical)}\n"
	".verdict h1,.verdict .sentence,.verdict ul{color:var(--ink)}"
	".signs{list-style:none;padding:0;margin:10px 0 0}\n"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:14px 24px;margin:0}\n"
	".tiles dt{color:var(--soft);font-size:13px}.tiles dd{margin:0;font-size:20px;font-weight:600}\n"
	".tiles small{display:block;font-size:13px;font-weight:400;color:var(--soft)}\n"
	"figure{margin:0 0 14px}figure h3,h3{font-size:15px;margin:0 0 6px}\n"
	"svg{display:block;width:100%;max-width:860px;height:auto;overflow:visible;font-size:12px;"
	"font-variant-numeric:tabular-nums}\n"
	"table{border-collapse:collapse;width:100%;font-size:13px;margin:0 0 12px;font-variant-numeric:tabular-nums}\n"
	"th{text-align:left;font-weight:600;color:var(--soft);font-size:13px;border-bottom:1px solid var(--line);"
	"vertical-align:bottom}\n"
	"th{overflow-wrap:normal}td.number{white-space:nowrap}td:first-child{min-width:5em}"
	".number+:not(.number){padding-left:8px}\n"
	"th,td{padding:4px 10px 4px 0}td{border-bottom:1px solid var(--line);vertical-align:top}\n"
	".number{text-align:right}th:last-child,td:last-child{padding-right:0}td.warning,td.critical{font-weight:600}\n"
	"details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}code{font:13px 'DejaVu Sans Mono',monospace}\n"
	"svg text{fill:var(--ink)}svg .axis{fill:var(--soft)}.grid{stroke:var(--line)}.rule{stroke:var(--soft);"
	"stroke-dasharray:3 3}\n"
	".curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
	".lead{fill:none;stroke:var(--line)}\n"
	".f{fill:var(--bar)}.f.warning{fill:var(--warning)}.f.critical{fill:var(--critical)}"
	".cell{fill:none;stroke:var(--line)}\n"
	".s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}"
	".s5{stroke:var(--s5)}.s6{stroke:var(--s6)}.s7{stroke:var(--s7)}\n"
	".h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)}"
	".h5{fill:var(--h5)}.h6{fill:var(--h6)}svg .low{fill:var(--low)}svg .high{fill:var(--high)}\n"
	".matrix{width:auto}.matrix td{text-align:center;vertical-align:middle;min-width:2.6em;"
	"padding:3px 2px;border:1px solid var(--card)}"
	".matrix thead th{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;padding:4px 2px;border:0}"
	".matrix tbody th{border:0;white-space:nowrap;padding:0 8px 0 0;text-align:right}\n"
	"td.h0{background:var(--h0)}td.h1{background:var(--h1)}td.h2{background:var(--h2)}td.h3{background:var(--h3)}"
	"td.h4{background:var(--h4)}td.h5{background:var(--h5)}td.h6{background:var(--h6)}"
	"td.h5,td.h6{color:var(--high)}\n"
	".findings li{border-top:1px solid var(--line);padding:8px 0}.findings p{margin:0 0 2px}a{color:var(--info)}\n"
	"form{display:inline-block;margin:0 20px 6px 0}input,button{font:inherit;color:inherit;background:var(--page);"
	"border:1px solid var(--line);border-radius:4px;padding:2px 8px}p a+a,p a+code{margin-left:8px}"
	".row{display:flex;flex-wrap:wrap;gap:0 40px}.row>div{flex:0 1 auto;min-width:0;max-width:100%}"
	".row>div:last-child{flex:1 1 560px}.matrix a{color:inherit;text-decoration:none}td a{text-decoration:none}"
	".matrix .down{outline:2px solid var(--critical);outline-offset:-2px}"
	"figure,.wide{overflow-x:auto}"
	"@media screen and (min-width:1900px){main{columns:2;column-gap:16px}.card{break-inside:avoid}"
	".verdict{column-span:all}}@media screen and (max-width:700px){main{padding:8px}.card{padding:10px 12px}"
	"figure svg{min-width:640px}.wide table{min-width:640px}"
	/* The newest part of a curve is at the right. */
	"figure:has(.curve){direction:rtl}figure>*{direction:ltr}"
	".verdict .sentence{font-size:19px}}\n"
	"@media print{:root{color-scheme:light;--page:#fff;--card:#fff}@page{margin:12mm}main{padding:0}"
	"figure,tr,.verdict,.tiles div{break-inside:avoid}h2,h3{break-after:avoid}.sheet{break-before:page}"
	".card{padding:10px 14px;margin:0 0 10px}"
	".verdict .sentence{font-size:20px}summary{display:none}"
	"*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

static const struct {
	const char *class, *word, *sign;
} states[PAGE_STATES] = {
	[PAGE_PLAIN] = { "plain", "", "" },
	[PAGE_GOOD] = { "good", "clean", "\u2714" },
	[PAGE_INFO] = { "info", "note", "\u25cf" },
	[PAGE_WARNING] = { "warning", "warning", "\u25b2" },
	[PAGE_CRITICAL] = { "critical", "critical", "\u2716" },
};

const char *html_state_class(enum page_state state)
{
	return states[state].class;
}

const char *html_state_word(enum page_state state)
{
	return states[state].word;
}

const char *html_state_sign(enum page_state state)
{
	return states[state].sign;
}

/* U+FFFE and U+FFFF are valid UTF-8 but not allowed in XML. */
static bool is_allowed(const char *chars)
{
	return memcmp(chars, "\xef\xbf\xbe", 3) != 0 && memcmp(chars, "\xef\xbf\xbf", 3) != 0;
}

void html_escape(struct text *page, const char *chars)
{
	struct text plain = { 0 };

	if (!chars)
		return;
	text_append_escaped(&plain, chars, strlen(chars));
	for (const char *c = text_chars(&plain); *c; c++) {
		const char *entity = *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : *c == '>' ? "&gt;" :
				     *c == '"' ? "&quot;" : *c == '\'' ? "&#39;" : NULL;

		if (entity)
			text_append(page, entity);
		else if (*c == ' ' && c[1] == '%')
			text_append(page, "\u00a0"); /* "25 %" stays in one line */
		else if ((unsigned char)*c == 0xef && !is_allowed(c))
			text_appendf(page, "\\xef\\xbf\\x%02x", (unsigned char)c[2]), c += 2;
		else
			text_append_bytes(page, c, 1);
	}
	page->failed |= text_failed(&plain);
	text_done(&plain);
}

static void escape_va(struct text *page, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

static void escape_va(struct text *page, const char *fmt, va_list args)
{
	char *chars = NULL;

	if (vasprintf(&chars, fmt, args) < 0) {
		page->failed = true;
		return;
	}
	html_escape(page, chars);
	free(chars);
}

void html_escapef(struct text *page, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	escape_va(page, fmt, args);
	va_end(args);
}

static void append_tag(struct text *page, const char *tag, const char *class)
{
	text_appendf(page, "<%s", tag);
	if (class && class[0])
		text_appendf(page, " class=\"%s\"", class);
	text_append(page, ">");
}

void html_element(struct text *page, const char *tag, const char *class, const char *fmt, ...)
{
	va_list args;

	append_tag(page, tag, class);
	va_start(args, fmt);
	escape_va(page, fmt, args);
	va_end(args);
	text_appendf(page, "</%s>\n", tag);
}

void html_sign_item(struct text *page, enum page_state state, const char *chars)
{
	text_append(page, "<li>");
	html_element(page, "span", html_state_class(state), "%s ", html_state_sign(state));
	html_escape(page, chars);
	text_append(page, "</li>\n");
}

void html_begin(struct text *page, const char *title)
{
	text_append(page, "<!DOCTYPE html>\n"
		    "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		    "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; img-src data:\"/>\n"
		    "<link rel=\"icon\" href=\"data:,\"/>\n");
	html_element(page, "title", NULL, "%s", title);
	text_append(page, "<style>\n");
	text_append(page, style);
	text_append(page, "</style>\n</head>\n<body>\n<main>\n");
}

void html_end(struct text *page)
{
	text_append(page, "</main>\n</body>\n</html>\n");
}

void html_card_begin(struct text *page, const char *title)
{
	text_append(page, "<section class=\"card\">\n");
	if (title)
		html_element(page, "h2", NULL, "%s", title);
}

void html_card_end(struct text *page)
{
	text_append(page, "</section>\n");
}

void html_table_begin(struct text *page, const struct html_column *columns, size_t count)
{
	text_append(page, "<table>\n<thead><tr>");
	for (size_t i = 0; i < count; i++)
		html_element(page, "th", columns[i].is_number ? "number" : NULL, "%s", columns[i].title);
	text_append(page, "</tr></thead>\n<tbody>");
}

void html_row(struct text *page)
{
	text_append(page, "<tr>");
}

void html_row_end(struct text *page)
{
	text_append(page, "</tr>\n");
}

void html_cell_begin(struct text *page, const struct html_column *column, enum page_state state)
{
	text_appendf(page, "<td class=\"%s%s\">", html_state_class(state), column->is_number ? " number" : "");
	if (state == PAGE_WARNING || state == PAGE_CRITICAL)
		text_appendf(page, "%s ", html_state_sign(state));
}

void html_link_begin(struct text *page, const char *prefix, uint64_t id, unsigned number)
{
	text_appendf(page, "<a href=\"%s0x%016" PRIx64, prefix, id);
	if (number)
		text_appendf(page, "/%u", number);
	text_append(page, "\">");
}

void html_table_end(struct text *page)
{
	text_append(page, "</tbody>\n</table>\n");
}
