/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/cmd.h"
#include "sim/net/mend.h"
#include "sim/net_shape.h"
#include "sim/rundir.h"

static int parse_kind(const char *word, enum net_shape_kind *ret, struct error *err)
{
	static const char *const kinds[] = {
		[NET_SHAPE_RAIL] = "rail", [NET_SHAPE_TREE2] = "tree2", [NET_SHAPE_TREE3] = "tree3",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(word, kinds[i]))
			continue;
		*ret = (enum net_shape_kind)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "the kind of a net is rail, tree2 or tree3, not \"%s\"", word);
}

int cmd_parse_shape(int argc, char **argv, struct net_shape *shape, struct error *err)
{
	enum net_shape_kind kind = NET_SHAPE_RAIL;

	if (argc < 1)
		return err_set(err, ERR_USAGE, "the kind of net is missing: rail, tree2 or tree3");
	if (parse_kind(argv[0], &kind, err) < 0)
		return ERR_USAGE;
	*shape = net_shape_default(kind);
	for (int i = 1; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');
		char name[32];

		if (strncmp(argv[i], "--", 2))
			return err_set(err, ERR_USAGE, "\"%s\" is not an option of a net: see man ibwire-sim", argv[i]);
		snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - argv[i] - 2) : 31, argv[i] + 2);
		if (!equals && i + 1 >= argc)
			return err_set(err, ERR_USAGE, "--%s needs a value", name);
		if (net_shape_option(shape, name, equals ? equals + 1 : argv[++i], err) < 0)
			return ERR_USAGE;
	}
	return 0;
}

static void log_repair(void *ctx, const char *line)
{
	(void)ctx;
	log_info("%s", line);
}

int cmd_make_net(const struct net_shape *shape, struct text *net, struct fabric **ret, struct error *err)
{
	struct mend_notes notes = { 0 };
	struct fabric *fabric;
	int code = net_shape_build(shape, &fabric, err);

	if (code < 0)
		return code;
	mend_fabric(fabric, &notes);
	mend_write(net, fabric);
	if (text_failed(net)) {
		fabric_destroy(fabric);
		return err_nomem(err);
	}
	mend_describe(&notes, log_repair, NULL);
	*ret = fabric;
	return 0;
}

int cmd_load_net(const char *path, struct text *net, struct fabric **ret, struct error *err)
{
	struct mend_notes notes;
	char *chars;
	size_t len;
	int code = rundir_read(strcmp(path, "-") ? path : NULL, &chars, &len, err);

	if (code < 0)
		return code;
	code = mend(chars, len, net, ret, &notes, err);
	free(chars);
	if (code < 0)
		return err_prefix(err, "%s", path);
	mend_describe(&notes, log_repair, NULL);
	return 0;
}

static int print_net(const struct text *net, struct error *err)
{
	if (fwrite(text_chars(net), 1, net->len, stdout) != net->len || fflush(stdout) != 0)
		return err_set(err, ERR_IO, "cannot write the net file: %s", strerror(errno));
	return 0;
}

int cmd_net(int argc, char **argv, struct error *err)
{
	struct text net = { 0 };
	struct fabric *fabric = NULL;
	struct net_shape shape;
	int code = cmd_parse_shape(argc - 1, argv + 1, &shape, err);

	if (code == 0)
		code = cmd_make_net(&shape, &net, &fabric, err);
	if (code == 0)
		code = print_net(&net, err);
	fabric_destroy(fabric);
	text_done(&net);
	return code;
}

int cmd_mend(int argc, char **argv, struct error *err)
{
	struct text net = { 0 };
	struct fabric *fabric = NULL;
	int code;

	if (argc != 2 || (argv[1][0] == '-' && argv[1][1]))
		return err_set(err, ERR_USAGE, "usage: ibwire-sim mend FILE (\"-\" for stdin)");
	code = cmd_load_net(argv[1], &net, &fabric, err);
	if (code == 0)
		code = print_net(&net, err);
	fabric_destroy(fabric);
	text_done(&net);
	return code;
}
