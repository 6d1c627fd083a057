/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * screen_text.c - output of a command: scrolled, searched, written to a file
 *
 * A report is left by its command as a page (export/page.h) and drawn with its styles; Enter opens the ports and
 * nodes of its tables. Other commands print text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/call.h"
#include "base/err.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/list.h"
#include "tui/draw/page_draw.h"
#include "tui/draw/prompt.h"
#include "tui/draw/terminal.h"
#include "tui/draw/text_page.h"
#include "tui/draw/theme.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

enum { ARGS_MOST = 40, STEP_COLUMNS = 16 };

/* Minimum width of plots and wrapped text; the screen scrolls horizontally. */
enum { TABLE_COLUMNS = 132 };

const char *const text_by_words[] = { "port", "link", "switch", "host", NULL };

struct screen_state {
	struct list list;
	char title[160];
	char *args[ARGS_MOST + 1]; /* ends with NULL */
	size_t by;                 /* index in args of the value of --by; 0: none */
	size_t choice;             /* index of that value in text_by_words */
	bool fits;                 /* of struct text_command */
	struct call *call;         /* NULL: none runs */
	int exit_status;           /* of the last one */
	bool cut;                  /* its output was truncated */
	int64_t shown;             /* number of the output, as subject id */
	char *text;                /* the output, sanitised, lines NUL-terminated */
	size_t *lines;             /* offsets of the lines */
	size_t line_count, line_capacity;
	int left;                  /* columns scrolled to the left */
	struct page *page;         /* that the command left; NULL: there is only text */
	struct text_page laid_out; /* the page for the width of the body */
	struct page_view view;
	char search[PROMPT_SIZE];
};

static void reset(struct screen_state *state)
{
	call_destroy(state->call);
	state->call = NULL;
	state->exit_status = 0;
	state->cut = false;
	free(state->text);
	state->text = NULL;
	state->line_count = 0;
	state->list = (struct list){ .height = state->list.height };
	state->left = 0;
	page_destroy(state->page);
	state->page = NULL;
	state->laid_out.columns = 0;
	state->view = (struct page_view){ .cursor = PAGE_NONE };
}

static void done(void *data)
{
	struct screen_state *state = data;

	reset(state);
	for (size_t i = 0; state->args[i]; i++)
		free(state->args[i]);
	free(state->lines);
	page_done(&state->laid_out);
}

static void free_page(void *page)
{
	page_destroy(page);
}

struct call *text_start(const struct app *app, const char *const *args, int columns, struct error *err)
{
	const struct call_settings settings = { .columns = (unsigned)columns, .file = -1, .most = TEXT_OUTPUT_MOST,
						.truncate = true, .free_value = free_page };
	struct call *call = NULL;

	call_start(app->options->command, args, &settings, &call, err);
	return call;
}

/* Output of our own commands, but with names from the fabric. */
static void replace_controls(char *output, size_t len)
{
	for (unsigned char *c = (unsigned char *)output; c < (unsigned char *)output + len; c++) {
		if ((*c < ' ' && *c != '\n') || *c == 0x7f)
			*c = *c == '\t' ? ' ' : '?';
		/* C1 controls, as UTF-8. */
		if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
			*c = c[1] = '?';
	}
}

char *text_of_result(const struct call_result *result)
{
	struct text text = { 0 };

	text_append_bytes(&text, text_chars(&result->warnings), result->warnings.len);
	text_append_bytes(&text, text_chars(&result->output), result->output.len);
	text_appendf(&text, "%s%s%s", result->code < 0 ? "ibwire: " : "", result->code < 0 ? result->err.text : "",
		     result->code < 0 ? "\n" : "");
	if (text_failed(&text)) {
		text_done(&text);
		return NULL;
	}
	replace_controls(text.chars, text.len);
	return text.chars;
}

static int split(struct screen_state *state, const struct call_result *result, struct error *err)
{
	char *at;

	free(state->text);
	state->line_count = 0;
	state->text = text_of_result(result);
	if (!state->text)
		return err_nomem(err);
	for (at = state->text; *at;) {
		size_t *lines = array_grow(state->lines, state->line_count, &state->line_capacity, sizeof(*lines));
		size_t len = strcspn(at, "\n");
		bool last = !at[len];

		if (!lines)
			return err_nomem(err);
		state->lines = lines;
		lines[state->line_count++] = (size_t)(at - state->text);
		at[len] = '\0';
		if (last)
			break;
		at += len + 1;
	}
	return 0;
}

static void start(struct screen_state *state, struct app *app)
{
	struct error trouble = { 0 };
	int columns = app->body.columns > TABLE_COLUMNS || state->fits ? app->body.columns : TABLE_COLUMNS;

	reset(state);
	state->call = text_start(app, (const char *const *)state->args, columns, &trouble);
	if (!state->call)
		app_message(app, "%s", trouble.text);
}

static bool copy_args(struct screen_state *state, const struct text_command *command)
{
	size_t count = 0;

	for (size_t i = 0; state->args[i]; i++)
		free(state->args[i]);
	memset(state->args, 0, sizeof(state->args));
	for (; command->args[count] && count < ARGS_MOST; count++)
		if (!(state->args[count] = strdup(command->args[count])))
			return false;
	return true;
}

void text_show(struct app *app, const struct text_command *command)
{
	struct screen_state *state = screen_state(app, &screen_text);
	struct subject subject = { .kind = SUBJECT_TEXT };

	snprintf(state->title, sizeof(state->title), "%s", command->title);
	state->by = command->by;
	state->choice = 0;
	state->fits = command->fits;
	if (!copy_args(state, command)) {
		app_message(app, "not enough memory to run a command");
		return;
	}
	for (size_t i = 0; state->by && text_by_words[i]; i++)
		if (!strcmp(text_by_words[i], state->args[state->by]))
			state->choice = i;
	start(state, app);
	subject.id = ++state->shown;
	app_open(app, &screen_text, &subject);
}

static bool poll_run(void *data, struct app *app)
{
	struct screen_state *state = data;
	const struct call_result *result = state->call ? call_result(state->call) : NULL;
	struct error trouble = { 0 };
	bool is_open = false;

	for (size_t i = 0; i < app->depth; i++)
		is_open |= app->path[i].screen == &screen_text;
	app->command_runs |= state->call && is_open;
	/* Without the screen, nothing needs the output. */
	if (result && is_open) {
		state->exit_status = result->code < 0 ? -result->code : result->code;
		state->cut = result->cut;
		state->page = call_take_value(state->call);
		if (split(state, result, &trouble) < 0)
			app_message(app, "%s", trouble.text);
		else if (state->page && state->line_count)
			app_message(app, "%s", state->text + state->lines[0]);
	} else if (is_open) {
		return false;
	}
	call_destroy(state->call);
	state->call = NULL;
	return result && is_open;
}

static void draw_title(const struct screen_state *state, const struct brush *brush, const struct rect *body)
{
	char how[128];
	size_t first = state->page ? state->view.first : state->list.first;
	size_t last = first + (size_t)(state->page ? state->view.height : state->list.height);
	size_t count = state->page ? state->laid_out.line_count : state->line_count;

	if (state->call)
		snprintf(how, sizeof(how), "running ...");
	else if (state->exit_status)
		snprintf(how, sizeof(how), "exit status %d", state->exit_status);
	else
		snprintf(how, sizeof(how), "lines %zu to %zu of %zu", count ? first + 1 : 0,
			 last < count ? last : count, count);
	draw_line(brush, body, 0, ROLE_HEAD, "%s%s%s  (%s)%s", state->title, state->by ? ", rows by " : "",
		  state->by ? text_by_words[state->choice] : "", how, state->cut ? "  output truncated" : "");
}

static void draw_page(struct screen_state *state, const struct app *app, const struct rect *body)
{
	const struct rect below = { body->y + 1, body->x, body->rows - 1, body->columns };
	const struct brush brush = { app->theme, 0 };

	if (state->laid_out.columns != body->columns)
		page_lay_out(state->page, &state->laid_out, body->columns, app->theme->unicode);
	page_fit(&state->laid_out, &state->view, below.rows);
	draw_title(state, &brush, body);
	page_draw(&state->laid_out, &state->view, &brush, &below);
}

static void draw(void *data, struct app *app, const struct rect *body)
{
	struct screen_state *state = data;
	struct brush brush = { app->theme, 0 };

	if (state->page) {
		draw_page(state, app, body);
		return;
	}
	list_place(&state->list, state->line_count, body->y + 1, body->rows - 1);
	draw_title(state, &brush, body);
	for (int y = 1; y < body->rows && state->list.first + (size_t)y - 1 < state->line_count; y++) {
		size_t line = state->list.first + (size_t)y - 1;
		const char *text = state->text + state->lines[line];
		bool found = state->search[0] && strcasestr(text, state->search);

		brush.flags = line == state->list.cursor ? DRAW_CURSOR : 0;
		text += text_prefix_bytes(text, (size_t)state->left);
		draw_line(&brush, body, y, found ? ROLE_SORTED : ROLE_TEXT, "%s", text);
	}
}

/* Does a line have the text that is searched for? In a page, in one of its cells. */
static bool is_match(const struct screen_state *state, size_t line)
{
	const struct text_page *page = &state->laid_out;

	if (!state->page)
		return strcasestr(state->text + state->lines[line], state->search);
	for (size_t i = page->lines[line].first; i < page->lines[line].first + page->lines[line].count; i++)
		if (strcasestr(page->chars.chars + page->parts[i].text, state->search))
			return true;
	return false;
}

/* Go to the next or previous match, cyclic; @step 0: from the selected line on. */
static void find(struct app *app, int step)
{
	struct screen_state *state = screen_state(app, &screen_text);
	size_t count = state->page ? state->laid_out.line_count : state->line_count;
	size_t from = state->page ? state->view.first : state->list.cursor;

	for (size_t i = step ? 1 : 0; state->search[0] && i <= count && count; i++) {
		size_t line = (from + (step < 0 ? count - i % count : i)) % count;

		if (!is_match(state, line))
			continue;
		if (state->page)
			page_scroll(&state->laid_out, &state->view, (long)line - (long)state->view.first);
		else
			list_move_to(&state->list, line);
		return;
	}
	app_message(app, state->search[0] ? "%s not found" : "no search text: use /%s", state->search);
}

static void search(struct app *app, const char *typed)
{
	struct screen_state *state = screen_state(app, &screen_text);

	snprintf(state->search, sizeof(state->search), "%s", typed);
	if (typed[0])
		find(app, 0);
}

static void write_file(struct app *app, const char *path)
{
	const struct screen_state *state = screen_state(app, &screen_text);
	struct new_file file;
	struct error err;
	int code;

	if (!path[0])
		return;
	if (access(path, F_OK) == 0) {
		app_message(app, "%s: the file exists; enter another name", path);
		return;
	}
	code = new_file_open(path, false, &file, &err);
	if (code == 0 && state->page)
		code = page_render(state->page, file.stream,
				   &(struct page_options){ .target = PAGE_TEXT, .notes = true }, &err);
	for (size_t i = 0; code == 0 && !state->page && i < state->line_count; i++)
		fprintf(file.stream, "%s\n", state->text + state->lines[i]);
	if (file.stream)
		code = new_file_end(&file, code, &err);
	if (code < 0)
		app_message(app, "%s", err.text);
	else
		app_message(app, "written: %s", path);
}

static void next_choice(struct screen_state *state, struct app *app)
{
	char *word;

	state->choice = text_by_words[state->choice + 1] ? state->choice + 1 : 0;
	word = strdup(text_by_words[state->choice]);
	if (!word)
		return;
	free(state->args[state->by]);
	state->args[state->by] = word;
	start(state, app);
}

static bool key(void *data, struct app *app, int pressed)
{
	struct screen_state *state = data;

	switch (pressed) {
	case '/':
	case KEY_SPECIAL(KEY_F(3)):
		prompt_start(app->prompt, "search: ", state->search, search);
		return true;
	case 'n':
	case 'N':
		find(app, pressed == 'n' ? 1 : -1);
		return true;
	case 'w':
		prompt_start(app->prompt, "write to the file: ", "", write_file);
		return true;
	case 'y':
		if (state->by)
			next_choice(state, app);
		return state->by != 0;
	case KEY_SPECIAL(KEY_RIGHT):
		state->left += STEP_COLUMNS;
		return true;
	case KEY_SPECIAL(KEY_LEFT):
		state->left = state->left > STEP_COLUMNS ? state->left - STEP_COLUMNS : 0;
		return true;
	default:
		return state->page && page_key(&state->laid_out, &state->view, pressed);
	}
}

static struct list *list_of(void *data, const struct app *app)
{
	struct screen_state *state = data;

	(void)app;
	return state->page ? NULL : &state->list;
}

static bool mouse(void *data, struct app *app, const struct mouse *event)
{
	struct screen_state *state = data;

	return state->page && page_mouse(&state->laid_out, &state->view, app->body.y + 1, event);
}

/* The port or node of the selected line of a page. */
static void subject_here(void *data, const struct app *app, struct subject *ret)
{
	const struct screen_state *state = data;

	(void)app;
	if (state->page && state->view.cursor < state->laid_out.line_count)
		*ret = state->laid_out.lines[state->view.cursor].subject;
}

static void draw_footer(void *data, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = {
		{ "/", "search" }, { "n N", "next, previous" }, { "w", "write to a file" },
		{ "Left Right", "sideways" }, { "Esc", "back" }, { "?", "help" }, { NULL, NULL },
	}, page_keys[] = {
		{ "Enter", "open" }, { "/", "search" }, { "n N", "next, previous" }, { "w", "write to a file" },
		{ "Esc", "back" }, { "?", "help" }, { NULL, NULL },
	}, difference_keys[] = {
		{ "/", "search" }, { "n N", "next, previous" }, { "w", "write to a file" }, { "y", "rows by" },
		{ "Left Right", "sideways" }, { "Esc", "back" }, { "?", "help" }, { NULL, NULL },
	};
	const struct screen_state *state = data;

	footer_draw_keys(app, footer, state->by ? difference_keys : state->page ? page_keys : keys);
}

static const struct key_help help[] = {
	{ "Up Down PgUp PgDn Home End", "scroll" },
	{ "Left Right", "sideways" },
	{ "Enter", "report: open the selected port or node" },
	{ "/ F3", "search; n: next, N: previous" },
	{ "w", "write to a file" },
	{ "y", "rows of a difference: port, link, switch, host" },
	{ NULL, NULL },
};

const struct screen screen_text = {
	.name = "text",
	.size = sizeof(struct screen_state),
	.done = done,
	.poll = poll_run,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.mouse = mouse,
	.subject = subject_here,
	.list = list_of,
	.help = help,
};

size_t text_arguments(const char **list, size_t count, size_t most, const char *const *more)
{
	for (size_t i = 0; more && more[i] && count < most; i++)
		list[count++] = more[i];
	list[count] = NULL;
	return count;
}

void text_report(struct app *app, const struct subject *subject)
{
	const struct finding_row *row = subject_finding(app, subject);
	const struct subject place = row ? subject_of_finding(row) : *subject;
	char target[32], at[WHEN_SIZE], name[NODE_NAME_SIZE * 2 + 16], title[sizeof(name) + 16];
	const char *args[ARGS_MOST + 1] = { "report", target, "--db", app->options->db_path, "--color", "never" };
	const char *const past[] = { "--at", at, NULL };
	const struct text_command command = { .title = title, .args = args };
	size_t count = 6;

	if (!app->live->shown || !place.node_guid || (place.kind != SUBJECT_PORT && place.kind != SUBJECT_NODE &&
						     place.kind != SUBJECT_GROUP)) {
		app_message(app, "no port, node or finding selected to report on");
		return;
	}
	if (place.kind == SUBJECT_PORT)
		snprintf(target, sizeof(target), "0x%016" PRIx64 "/%u", place.node_guid, place.port);
	else
		snprintf(target, sizeof(target), "0x%016" PRIx64, place.node_guid);
	when_format_utc(app->live->shown->sweep.wall_us, at);
	count = text_arguments(args, count, ARGS_MOST, app->live->at_us ? past : NULL);
	text_arguments(args, count, ARGS_MOST, app->options->arguments);
	snprintf(title, sizeof(title), "report of %s", subject_name(app, &place, name, sizeof(name)));
	text_show(app, &command);
}
