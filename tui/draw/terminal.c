/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/terminal.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "tui/tui.h"

/*
 * State for restoring the terminal in a signal handler of a crash, which has no other access to it:
 * one of the few global variables.
 */
static struct {
	volatile sig_atomic_t armed, resumed;
	struct termios modes;
	char restore[128]; /* leave the alternate screen, show the cursor, plain characters */
	size_t restore_len;
	SCREEN *screen;
} saved;

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

static void on_crash(int number)
{
	if (saved.armed) {
		saved.armed = 0;
		if (write(STDOUT_FILENO, saved.restore, saved.restore_len) < 0)
			saved.restore_len = 0;
		tcsetattr(STDOUT_FILENO, TCSANOW, &saved.modes);
	}
	/* SA_RESETHAND has restored the default handler, which writes the core dump. */
	raise(number);
}

static void on_continue(int number)
{
	(void)number;
	saved.resumed = 1;
}

static void add_capability(const char *capability)
{
	const char *chars = tigetstr(capability);
	size_t len = chars && chars != (const char *)-1 ? strlen(chars) : 0;

	if (len && saved.restore_len + len < sizeof(saved.restore)) {
		memcpy(saved.restore + saved.restore_len, chars, len);
		saved.restore_len += len;
	}
}

static void arm(void)
{
	struct sigaction action;

	saved.restore_len = 0;
	add_capability("sgr0");
	add_capability("cnorm");
	add_capability("rmkx");
	add_capability("rmcup");
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_crash;
	action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
	for (size_t i = 0; i < sizeof(crash_signals) / sizeof(crash_signals[0]); i++) {
		struct sigaction before;

		/* Sanitizers have handlers that print more. */
		if (sigaction(crash_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(crash_signals[i], &action, NULL);
	}
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_continue;
	sigaction(SIGCONT, &action, NULL);
	saved.armed = 1;
}

int tui_check_terminal(struct error *err)
{
	const char *name = getenv("TERM"), *move;
	bool moves;
	int status = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE, "top requires a terminal: without one, use \"ibwire ports\"");
	if (!name || !*name)
		return err_set(err, ERR_USAGE,
			       "$TERM is not set: set it to the terminal's type, such as xterm-256color");
	if (setupterm(NULL, STDOUT_FILENO, &status) != OK || status != 1)
		return err_set(err, ERR_USAGE,
			       "unknown terminal type '%.60s' in $TERM: try TERM=xterm, or install its "
			       "terminfo entry", name);
	move = tigetstr("cup");
	moves = move && move != (const char *)-1;
	/* curses reads the terminal description again on initialization. */
	del_curterm(cur_term);
	if (!moves)
		return err_set(err, ERR_USAGE,
			       "terminal type '%.60s' has no cursor movement: set $TERM, or use \"ibwire ports\"",
			       name);
	return 0;
}

void terminal_mouse_on(bool on)
{
	mousemask(on ? BUTTON1_PRESSED | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
}

bool terminal_was_stopped(void)
{
	if (!saved.resumed)
		return false;
	saved.resumed = 0;
	/* After SIGSTOP, which curses does not handle, the terminal modes may have been changed. */
	reset_prog_mode();
	clearok(curscr, TRUE);
	return true;
}

static int no_response(struct error *err)
{
	return err_set(err, ERR_USAGE, "the terminal does not respond: check that it is still connected");
}

int terminal_start(bool *ret_unicode, struct error *err)
{
	/* Not LC_NUMERIC: numbers have a decimal point in every locale. */
	setlocale(LC_CTYPE, "");
	if (tcgetattr(STDOUT_FILENO, &saved.modes) < 0)
		return no_response(err);
	saved.screen = newterm(NULL, stdout, stdin);
	if (!saved.screen)
		return err_set(err, ERR_USAGE,
			       "terminal type '%.60s' is not supported: set $TERM, or use \"ibwire ports\"",
			       getenv("TERM"));
	arm();
	/* If it fails, each key would wait for Enter. */
	if (cbreak() == ERR) {
		terminal_stop();
		return no_response(err);
	}
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	/* Some descriptions lack these, as that of tmux; what is sent is the same in all terminals. */
	define_key("\033[1;2D", KEY_SLEFT);
	define_key("\033[1;2C", KEY_SRIGHT);
	curs_set(0);
	/* Milliseconds after Esc; escape sequences arrive faster even on a slow line. */
	set_escdelay(50);
	/* Report a click at once instead of waiting for a double click. */
	mouseinterval(0);
	terminal_mouse_on(true);
	*ret_unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	return 0;
}

void terminal_stop(void)
{
	if (!saved.screen)
		return;
	endwin();
	saved.armed = 0;
	delscreen(saved.screen);
	saved.screen = NULL;
}

bool terminal_key(int wait_ms, int *ret_key)
{
	wint_t character = 0;
	int kind;

	timeout(wait_ms);
	kind = get_wch(&character);
	if (kind == ERR)
		return false;
	*ret_key = kind == KEY_CODE_YES ? -(int)character : (int)character;
	return true;
}

bool terminal_mouse(struct mouse *ret)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return false;
	*ret = (struct mouse){ .y = event.y, .x = event.x, .twice = event.bstate & BUTTON1_DOUBLE_CLICKED };
	if (event.bstate & BUTTON4_PRESSED)
		ret->wheel = -1;
	else if (event.bstate & BUTTON5_PRESSED)
		ret->wheel = 1;
	else if (!(event.bstate & (BUTTON1_PRESSED | BUTTON1_DOUBLE_CLICKED)))
		return false;
	return true;
}
