/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/flow.h"

#include <linux/dcbnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/text.h"
#include "local/capture.h"
#include "local/root.h"

/* A request and its response. */
struct message {
	_Alignas(struct nlmsghdr) char bytes[8192];
	size_t len;
};

static struct nlmsghdr *header(struct message *message)
{
	return (struct nlmsghdr *)message->bytes;
}

static void begin(struct message *message, uint16_t type, const void *family, size_t len)
{
	memset(message->bytes, 0, 512);
	*header(message) = (struct nlmsghdr){ .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST };
	memcpy(message->bytes + NLMSG_HDRLEN, family, len);
	message->len = NLMSG_HDRLEN + NLMSG_ALIGN(len);
}

/* Append an attribute; with @bytes NULL it is a nest of the @len bytes that the caller appends. */
static void put(struct message *message, uint16_t type, const void *bytes, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type };

	memcpy(message->bytes + message->len, &attr, sizeof(attr));
	message->len += NLA_HDRLEN;
	if (bytes) {
		memcpy(message->bytes + message->len, bytes, len);
		message->len += NLA_ALIGN(len);
	}
}

/* Send a request and receive its response in place. Return: whether it is no error. */
static bool query(int protocol, struct message *message)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct timeval wait = { .tv_sec = 1 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	ssize_t got = -1;

	if (fd < 0)
		return false;
	header(message)->nlmsg_len = (uint32_t)message->len;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
	    sendto(fd, message->bytes, message->len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) >= 0)
		got = recv(fd, message->bytes, sizeof(message->bytes), 0);
	close(fd);
	if (got < (ssize_t)NLMSG_HDRLEN || header(message)->nlmsg_len > (size_t)got ||
	    header(message)->nlmsg_type == NLMSG_ERROR)
		return false;
	message->len = header(message)->nlmsg_len;
	return true;
}

/* Find an attribute in @len bytes. Return: its length; @ret is its value. 0: none. */
static size_t find(const char *attrs, size_t len, uint16_t type, const char **ret)
{
	struct nlattr attr;

	for (size_t at = 0; at + NLA_HDRLEN <= len; at += NLA_ALIGN(attr.nla_len)) {
		memcpy(&attr, attrs + at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > len - at)
			return 0;
		if ((attr.nla_type & NLA_TYPE_MASK) == type) {
			*ret = attrs + at + NLA_HDRLEN;
			return attr.nla_len - (size_t)NLA_HDRLEN;
		}
	}
	return 0;
}

static bool find_u64(const char *attrs, size_t len, uint16_t type, uint64_t *ret)
{
	const char *value;

	if (find(attrs, len, type, &value) < sizeof(*ret))
		return false;
	memcpy(ret, value, sizeof(*ret));
	return true;
}

static const char *body(const struct message *message, size_t family, size_t *ret_len)
{
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(family);

	*ret_len = message->len > at ? message->len - at : 0;
	return message->bytes + at;
}

/* Pause frames. Source: Linux, Documentation/networking/ethtool-netlink.rst, PAUSE_GET (statistics since 5.10). */
static void read_pause(const char *net, struct local_flow *flow)
{
	const struct genlmsghdr family = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	const struct genlmsghdr pause = { .cmd = ETHTOOL_MSG_PAUSE_GET, .version = ETHTOOL_GENL_VERSION };
	const uint32_t flags = ETHTOOL_FLAG_STATS;
	size_t name = strlen(net) + 1, len;
	const char *attrs, *value;
	struct message message;
	uint16_t id;

	begin(&message, GENL_ID_CTRL, &family, sizeof(family));
	put(&message, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME, sizeof(ETHTOOL_GENL_NAME));
	if (!query(NETLINK_GENERIC, &message))
		return;
	attrs = body(&message, sizeof(family), &len);
	if (find(attrs, len, CTRL_ATTR_FAMILY_ID, &value) < sizeof(id))
		return;
	memcpy(&id, value, sizeof(id));
	begin(&message, id, &pause, sizeof(pause));
	put(&message, ETHTOOL_A_PAUSE_HEADER | NLA_F_NESTED, NULL,
	    NLA_HDRLEN + NLA_ALIGN(name) + NLA_HDRLEN + sizeof(flags));
	put(&message, ETHTOOL_A_HEADER_DEV_NAME, net, name);
	put(&message, ETHTOOL_A_HEADER_FLAGS, &flags, sizeof(flags));
	if (!query(NETLINK_GENERIC, &message))
		return;
	attrs = body(&message, sizeof(pause), &len);
	local_flow_decode_pause(attrs, len, flow);
}

void local_flow_decode_pause(const char *attrs, size_t len, struct local_flow *flow)
{
	const char *value;
	size_t nest;

	flow->pause_known = find(attrs, len, ETHTOOL_A_PAUSE_RX, &value) >= 1;
	flow->pause_rx = flow->pause_known && *value;
	flow->pause_tx = find(attrs, len, ETHTOOL_A_PAUSE_TX, &value) >= 1 && *value;
	nest = find(attrs, len, ETHTOOL_A_PAUSE_STATS, &value);
	flow->frames_known = nest && find_u64(value, nest, ETHTOOL_A_PAUSE_STAT_RX_FRAMES, &flow->pause_rx_frames) &&
			     find_u64(value, nest, ETHTOOL_A_PAUSE_STAT_TX_FRAMES, &flow->pause_tx_frames);
}

/* PFC. Source: Linux, include/uapi/linux/dcbnl.h, struct ieee_pfc (IEEE 802.1Qbb). */
static void read_pfc(const char *net, struct local_flow *flow)
{
	const struct dcbmsg get = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET };
	struct message message;
	const char *attrs;
	size_t len;

	begin(&message, RTM_GETDCB, &get, sizeof(get));
	put(&message, DCB_ATTR_IFNAME, net, strlen(net) + 1);
	if (!query(NETLINK_ROUTE, &message))
		return;
	attrs = body(&message, sizeof(get), &len);
	local_flow_decode_pfc(attrs, len, flow);
}

void local_flow_decode_pfc(const char *attrs, size_t len, struct local_flow *flow)
{
	const char *nest, *value;
	struct ieee_pfc pfc;

	len = find(attrs, len, DCB_ATTR_IEEE, &nest);
	if (!len || find(nest, len, DCB_ATTR_IEEE_PFC, &value) < sizeof(pfc))
		return;
	memcpy(&pfc, value, sizeof(pfc));
	flow->pfc_known = true;
	flow->pfc_enabled = pfc.pfc_en;
	for (int i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		flow->pfc_requests += pfc.requests[i];
		flow->pfc_indications += pfc.indications[i];
	}
}

static void parse(const char *chars, struct local_flow *flow)
{
	unsigned rx, tx;

	for (const char *line = chars; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		if (sscanf(line, "pause %u %u", &rx, &tx) == 2) {
			flow->pause_known = true;
			flow->pause_rx = rx;
			flow->pause_tx = tx;
		}
		if (sscanf(line, "pause_frames %" SCNu64 " %" SCNu64, &flow->pause_rx_frames,
			   &flow->pause_tx_frames) == 2)
			flow->frames_known = true;
		if (sscanf(line, "pfc %x %" SCNu64 " %" SCNu64, &flow->pfc_enabled, &flow->pfc_requests,
			   &flow->pfc_indications) == 3)
			flow->pfc_known = true;
	}
}

void local_flow_read(struct local_root *root, const char *net, struct local_flow *ret)
{
	char path[LOCAL_PATH_SIZE];
	struct text text = { 0 };

	*ret = (struct local_flow){ .pause_known = false };
	snprintf(path, sizeof(path), "ibwire/flow/%.64s", net);
	if (!root->live) {
		if (local_read_text(root, &text, LOCAL_VALUE_MOST, path))
			parse(text_chars(&text), ret);
	} else if (strlen(net) < 64) {
		read_pause(net, ret);
		read_pfc(net, ret);
		if (ret->pause_known)
			text_appendf(&text, "pause %d %d\n", ret->pause_rx, ret->pause_tx);
		if (ret->frames_known)
			text_appendf(&text, "pause_frames %" PRIu64 " %" PRIu64 "\n", ret->pause_rx_frames,
				     ret->pause_tx_frames);
		if (ret->pfc_known)
			text_appendf(&text, "pfc 0x%x %" PRIu64 " %" PRIu64 "\n", ret->pfc_enabled, ret->pfc_requests,
				     ret->pfc_indications);
		capture_file(root->capture, path, text_chars(&text), text.len);
	}
	text_done(&text);
}
