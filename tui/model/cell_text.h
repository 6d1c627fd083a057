/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cell_text.h - the texts of cells */
#ifndef IBWIRE_TUI_MODEL_CELL_TEXT_H
#define IBWIRE_TUI_MODEL_CELL_TEXT_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "tui/model/layout.h"
#include "tui/model/links.h"

struct error_sums;
struct port_table;

#define CELL_GUID_SIZE 19

/* cell_text_port - order_port_name(), or "-" for FABRIC_NONE. @ret: of PORT_NAME_SIZE. */
void cell_text_port(const struct port_table *table, uint32_t port, char *ret);

/* cell_text_guid - "0x..." with 16 digits. Return: @ret, of CELL_GUID_SIZE. */
const char *cell_text_guid(uint64_t guid, char *ret);

/*
 * cell_text - the text of a cell, unpadded
 * @columns:  of the cell; few get a shorter form
 * @now_us:   wall clock, for ages
 * Return: @ret, of at least CELL_SIZE bytes
 */
const char *cell_text(const struct links *links, const struct error_sums *sums, const struct link_row *link,
		       enum link_column column, int columns, int64_t now_us, char *ret);

#endif
