/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_text.h - the parts of a port as a plan writes it; private to fabric/plan */
#ifndef IBWIRE_FABRIC_PLAN_PORT_TEXT_H
#define IBWIRE_FABRIC_PLAN_PORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { PORT_NUMBERS = 4 };

struct port_text {
	unsigned numbers[PORT_NUMBERS]; /* "21"; "6.2", "6/2"; "1/6/2" */
	size_t count;
	bool dotted;        /* "6.2" and not "6/2" */
	bool named;         /* with a word: "Port 21", "P21" */
	unsigned cage, split; /* "cage 6 port 2", "sw6p2"; 0: not given */
	char module;        /* 'L', 'S'; 0: none */
	unsigned module_number;
	unsigned asic;      /* "U2"; 0: not given */
	unsigned hca;       /* 1 more than that of "HCA-1"; 0: not given */
	int interface;      /* 0 of "ib0"; -1: not given */
	char device[64];    /* "mlx5_0"; "": not given */
};

/*
 * port_text_parse - take a text apart: "Port 21", "P21", "21/1", "6.2", "1/6/2", "Switch Port 6.2", "sw6p2",
 * "Blade 16_Port 2/20", "L16/U2/P20", "mlx5_0 Port 1", "HCA-1", "ib0"
 * Return: false: a part of it is not understood.
 */
bool port_text_parse(const char *text, struct port_text *ret);

/* port_text_is_date - "2-Jan", "01/02/2026": what spreadsheets make of "1/2" */
bool port_text_is_date(const char *text);

#endif
