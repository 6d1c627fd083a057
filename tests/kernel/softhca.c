// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * softhca - a software HCA with an InfiniBand link layer that sends and receives MADs only, for tests
 *
 * QP0 and QP1 of each port transfer their MADs to and from the file that created the device (softhca.h).
 * Its process also responds as the hardware of the HCA, directed routes of 0 hops included. README.md
 * lists what is not modelled.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "softhca.h"

#define OUTBOX_MAX 1024 /* MADs that the file has not read yet; further ones are lost */
#define GRH_SIZE 40     /* reserved in front of each received MAD */
#define LOCAL_MS 1000   /* time for the response to a directed route of 0 hops */

struct soft_pd {
	struct ib_pd ib;
};

struct soft_cq {
	struct ib_cq ib;
	struct ib_wc *entries; /* a ring buffer */
	u32 first, count, size;
	bool notify;
};

struct soft_receive {
	struct ib_cqe *cqe;
	u64 addr;
	u32 length;
};

struct soft_qp {
	struct ib_qp ib;
	enum ib_qp_state state;
	u8 port;
	struct soft_receive *receives; /* a ring buffer */
	u32 first, count, size;
};

struct soft_ah {
	struct ib_ah ib;
	u16 lid;
	u8 sl, port;
};

struct soft_message {
	struct list_head list;
	struct softhca_message data;
};

/* A call of process_mad that waits for its response. */
struct soft_call {
	struct list_head list;
	__be64 tid;
	struct ib_mad *response;
	bool done;
};

struct soft_hca {
	struct ib_device ib;
	spinlock_t lock; /* of all below, and of the CQs and QPs */
	struct softhca_device identity;
	struct soft_qp *qps[SOFTHCA_PORTS][2];
	struct list_head calls;
	wait_queue_head_t called;
	struct list_head outbox;
	u32 outbox_count;
	wait_queue_head_t readable;
};

static struct soft_hca *to_hca(struct ib_device *ib)
{
	return container_of(ib, struct soft_hca, ib);
}

static struct soft_cq *to_cq(struct ib_cq *ib)
{
	return container_of(ib, struct soft_cq, ib);
}

static struct soft_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct soft_qp, ib);
}

/* --- completion queues; cq_push() is called with the lock held --- */

static void cq_push(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct soft_cq *cq = to_cq(ib);

	if (WARN_ON_ONCE(cq->count == cq->size))
		return;
	cq->entries[(cq->first + cq->count++) % cq->size] = *wc;
	if (cq->notify) {
		cq->notify = false;
		ib->comp_handler(ib, ib->cq_context);
	}
}

static int soft_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct soft_cq *cq = to_cq(ib);

	cq->size = attr->cqe + 2; /* the two work requests of ib_drain_qp() */
	cq->entries = kvcalloc(cq->size, sizeof(*cq->entries), GFP_KERNEL);
	ib->cqe = attr->cqe;
	return cq->entries ? 0 : -ENOMEM;
}

static int soft_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	kvfree(to_cq(ib)->entries);
	return 0;
}

static int soft_poll_cq(struct ib_cq *ib, int max, struct ib_wc *wc)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_cq *cq = to_cq(ib);
	unsigned long flags;
	int taken = 0;

	spin_lock_irqsave(&hca->lock, flags);
	for (; taken < max && cq->count; cq->count--) {
		wc[taken++] = cq->entries[cq->first];
		cq->first = (cq->first + 1) % cq->size;
	}
	spin_unlock_irqrestore(&hca->lock, flags);
	return taken;
}

static int soft_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags how)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_cq *cq = to_cq(ib);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&hca->lock, flags);
	cq->notify = true;
	missed = how & IB_CQ_REPORT_MISSED_EVENTS && cq->count;
	spin_unlock_irqrestore(&hca->lock, flags);
	return missed;
}

/* --- queue pairs --- */

static int soft_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_qp *qp = to_qp(ib);
	unsigned long flags;

	if (attr->qp_type != IB_QPT_SMI && attr->qp_type != IB_QPT_GSI)
		return -EOPNOTSUPP;
	qp->size = attr->cap.max_recv_wr + 1;
	qp->receives = kvcalloc(qp->size, sizeof(*qp->receives), GFP_KERNEL);
	if (!qp->receives)
		return -ENOMEM;
	qp->port = attr->port_num;
	qp->state = IB_QPS_RESET;
	ib->qp_num = attr->qp_type == IB_QPT_GSI;
	spin_lock_irqsave(&hca->lock, flags);
	hca->qps[qp->port - 1][ib->qp_num] = qp;
	spin_unlock_irqrestore(&hca->lock, flags);
	return 0;
}

static int soft_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_qp *qp = to_qp(ib);
	unsigned long flags;

	spin_lock_irqsave(&hca->lock, flags);
	hca->qps[qp->port - 1][ib->qp_num] = NULL;
	spin_unlock_irqrestore(&hca->lock, flags);
	kvfree(qp->receives);
	return 0;
}

static void complete_receive(struct soft_qp *qp, struct ib_wc *wc)
{
	wc->wr_cqe = qp->receives[qp->first].cqe;
	wc->qp = &qp->ib;
	wc->opcode = IB_WC_RECV;
	qp->first = (qp->first + 1) % qp->size;
	qp->count--;
	cq_push(qp->ib.recv_cq, wc);
}

static void flush_receives(struct soft_qp *qp)
{
	while (qp->count) {
		struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };

		complete_receive(qp, &wc);
	}
}

static int soft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_qp *qp = to_qp(ib);
	unsigned long flags;

	spin_lock_irqsave(&hca->lock, flags);
	if (mask & IB_QP_STATE)
		qp->state = attr->qp_state;
	if (qp->state == IB_QPS_ERR)
		flush_receives(qp);
	else if (qp->state == IB_QPS_RESET)
		qp->count = 0;
	spin_unlock_irqrestore(&hca->lock, flags);
	return 0;
}

static int soft_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_qp *qp = to_qp(ib);
	unsigned long flags;
	int code = 0;

	spin_lock_irqsave(&hca->lock, flags);
	for (; wr; wr = wr->next) {
		struct soft_receive *receive = &qp->receives[(qp->first + qp->count) % qp->size];

		if (qp->count == qp->size) {
			*bad = wr;
			code = -ENOMEM;
			break;
		}
		receive->cqe = wr->wr_cqe;
		receive->addr = wr->num_sge ? wr->sg_list->addr : 0;
		receive->length = wr->num_sge ? wr->sg_list->length : 0;
		qp->count++;
	}
	if (qp->state == IB_QPS_ERR)
		flush_receives(qp);
	spin_unlock_irqrestore(&hca->lock, flags);
	return code;
}

/* --- sending --- */

/* Append to the outbox, or lose the message. The lock is held. */
static void put_message(struct soft_hca *hca, const struct softhca_message *data)
{
	struct soft_message *message = NULL;

	if (hca->outbox_count < OUTBOX_MAX)
		message = kmalloc(sizeof(*message), GFP_ATOMIC);
	if (!message)
		return;
	message->data = *data;
	list_add_tail(&message->list, &hca->outbox);
	hca->outbox_count++;
	wake_up_interruptible(&hca->readable);
}

/* The simulated fabric has only the default partition: it drops MADs with any other P_Key. */
static bool in_default_partition(struct soft_hca *hca, u8 port, u16 index)
{
	return index < SOFTHCA_PKEYS && (hca->identity.ports[port - 1].pkeys[index] & 0x7fff) == 0x7fff;
}

static void send_one(struct soft_hca *hca, struct soft_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	struct soft_ah *ah = container_of(ud->ah, struct soft_ah, ib);
	struct softhca_message data = { .kind = SOFTHCA_MAD, .port = qp->port, .qp = qp->ib.qp_num };
	u32 length = 0;

	if (qp->ib.qp_num == 1 && !in_default_partition(hca, qp->port, ud->pkey_index))
		return;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *part = &wr->sg_list[i];

		if (part->length > SOFTHCA_MAD_SIZE - length)
			return;
		/* The device has no DMA: addresses are those of the kernel. */
		memcpy(data.mad + length, (void *)(uintptr_t)part->addr, part->length);
		length += part->length;
	}
	data.sl = ah->sl;
	data.lid = ah->lid;
	data.remote_qp = ud->remote_qpn;
	put_message(hca, &data);
}

static int soft_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct soft_hca *hca = to_hca(ib->device);
	struct soft_qp *qp = to_qp(ib);
	unsigned long flags;

	spin_lock_irqsave(&hca->lock, flags);
	for (; wr; wr = wr->next) {
		struct ib_wc wc = { .wr_cqe = wr->wr_cqe, .qp = ib, .opcode = IB_WC_SEND };

		if (qp->state == IB_QPS_ERR)
			wc.status = IB_WC_WR_FLUSH_ERR;
		else
			send_one(hca, qp, wr);
		cq_push(ib->send_cq, &wc);
	}
	spin_unlock_irqrestore(&hca->lock, flags);
	return 0;
}

/* --- directed routes of 0 hops --- */

static bool is_local_smp(const struct ib_mad *mad, bool response)
{
	const struct ib_smp *smp = (const struct ib_smp *)mad;

	return smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE && !smp->hop_cnt &&
	       ib_response_mad(&mad->mad_hdr) == response;
}

/*
 * Called for received MADs, all of which are left to the agents, and for requests of a directed route of
 * 0 hops. Without this function ib_mad also discards the directed requests of other subnet managers.
 */
static int soft_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
			    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
			    u16 *out_pkey_index)
{
	struct softhca_message data = { .kind = SOFTHCA_MAD, .port = port, .lid = be16_to_cpu(IB_LID_PERMISSIVE) };
	struct soft_call call = { .tid = in->mad_hdr.tid, .response = out };
	struct soft_hca *hca = to_hca(ib);
	unsigned long irq;

	if (!is_local_smp(in, false))
		return IB_MAD_RESULT_SUCCESS;
	memcpy(data.mad, in, sizeof(data.mad));
	spin_lock_irqsave(&hca->lock, irq);
	list_add_tail(&call.list, &hca->calls);
	put_message(hca, &data);
	spin_unlock_irqrestore(&hca->lock, irq);
	wait_event_timeout(hca->called, READ_ONCE(call.done), msecs_to_jiffies(LOCAL_MS));
	spin_lock_irqsave(&hca->lock, irq);
	list_del(&call.list);
	spin_unlock_irqrestore(&hca->lock, irq);
	return IB_MAD_RESULT_SUCCESS | (call.done ? IB_MAD_RESULT_REPLY : IB_MAD_RESULT_CONSUMED);
}

/* Is the MAD the response that a call waits for? The lock is held. */
static bool end_call(struct soft_hca *hca, const struct ib_mad *mad)
{
	struct soft_call *call;

	if (!is_local_smp(mad, true))
		return false;
	list_for_each_entry(call, &hca->calls, list) {
		if (call->done || call->tid != mad->mad_hdr.tid)
			continue;
		memcpy(call->response, mad, SOFTHCA_MAD_SIZE);
		WRITE_ONCE(call->done, true);
		wake_up(&hca->called);
		return true;
	}
	return false;
}

/* --- receiving: a MAD without a posted receive is lost --- */

static void deliver(struct soft_hca *hca, const struct softhca_message *data)
{
	u32 length = data->length ?: SOFTHCA_MAD_SIZE;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .byte_len = GRH_SIZE + length, .slid = data->lid,
			    .src_qp = data->remote_qp, .sl = data->sl, .port_num = data->port };
	struct soft_qp *qp;
	unsigned long flags;

	spin_lock_irqsave(&hca->lock, flags);
	for (u16 i = 0; i < SOFTHCA_PKEYS && data->qp == 1; i++)
		if (in_default_partition(hca, data->port, i))
			wc.pkey_index = i;
	qp = end_call(hca, (const struct ib_mad *)data->mad) ? NULL : hca->qps[data->port - 1][data->qp];
	if (qp && qp->count && qp->state == IB_QPS_RTS && qp->receives[qp->first].length >= wc.byte_len) {
		memcpy((u8 *)(uintptr_t)qp->receives[qp->first].addr + GRH_SIZE, data->mad, length);
		complete_receive(qp, &wc);
	}
	spin_unlock_irqrestore(&hca->lock, flags);
}

/* --- device and ports --- */

static int soft_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	attr->sys_image_guid = cpu_to_be64(to_hca(ib)->identity.system_guid);
	attr->max_qp = 2 * SOFTHCA_PORTS;
	attr->max_qp_wr = 1024;
	attr->max_send_sge = attr->max_recv_sge = 2;
	attr->max_cq = 2 * SOFTHCA_PORTS;
	attr->max_cqe = 8192;
	attr->max_pd = attr->max_mr = attr->max_ah = 1024;
	attr->max_pkeys = SOFTHCA_PKEYS;
	return 0;
}

static int soft_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	const struct softhca_port *from = &to_hca(ib)->identity.ports[port - 1];

	attr->state = from->state;
	attr->phys_state = from->phys_state;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = from->mtu;
	attr->gid_tbl_len = SOFTHCA_GUIDS;
	attr->pkey_tbl_len = SOFTHCA_PKEYS;
	attr->port_cap_flags = from->cap_mask;
	attr->max_msg_sz = SOFTHCA_MAD_SIZE;
	attr->lid = from->lid;
	attr->sm_lid = from->sm_lid;
	attr->lmc = from->lmc;
	attr->sm_sl = from->sm_sl;
	attr->max_vl_num = 1;
	attr->active_width = from->width;
	attr->active_speed = from->speed;
	return 0;
}

static int soft_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->pkey_tbl_len = SOFTHCA_PKEYS;
	immutable->gid_tbl_len = SOFTHCA_GUIDS;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int soft_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	const struct softhca_port *from = &to_hca(ib)->identity.ports[port - 1];

	if (index >= SOFTHCA_GUIDS)
		return -EINVAL;
	gid->global.subnet_prefix = cpu_to_be64(from->gid_prefix);
	gid->global.interface_id = cpu_to_be64(from->guids[index]);
	return 0;
}

static int soft_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index >= SOFTHCA_PKEYS)
		return -EINVAL;
	*pkey = to_hca(ib)->identity.ports[port - 1].pkeys[index];
	return 0;
}

static int soft_modify_port(struct ib_device *ib, u32 port, int mask, struct ib_port_modify *modify)
{
	struct softhca_message data = { .kind = SOFTHCA_IS_SM, .port = port };
	struct soft_hca *hca = to_hca(ib);
	unsigned long flags;

	if ((modify->set_port_cap_mask | modify->clr_port_cap_mask) & ~IB_PORT_SM)
		return -EOPNOTSUPP;
	data.sl = !!(modify->set_port_cap_mask & IB_PORT_SM);
	spin_lock_irqsave(&hca->lock, flags);
	put_message(hca, &data);
	spin_unlock_irqrestore(&hca->lock, flags);
	return 0;
}

static int soft_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	struct soft_ah *ah = container_of(ib, struct soft_ah, ib);

	ah->lid = rdma_ah_get_dlid(attr->ah_attr);
	ah->sl = rdma_ah_get_sl(attr->ah_attr);
	ah->port = rdma_ah_get_port_num(attr->ah_attr);
	return 0;
}

/* Without it, ib_mad matches no response to a request routed by LID. */
static int soft_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	const struct soft_ah *ah = container_of(ib, struct soft_ah, ib);

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(attr, ah->lid);
	rdma_ah_set_sl(attr, ah->sl);
	rdma_ah_set_port_num(attr, ah->port);
	return 0;
}

static int soft_destroy_ah(struct ib_ah *ib, u32 flags)
{
	return 0;
}

static int soft_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	return 0;
}

static int soft_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	return 0;
}

/* Memory regions are not supported, but ib_core requires the functions. */
static struct ib_mr *soft_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *soft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt, int access,
				      struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int soft_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	return -EOPNOTSUPP;
}

static const struct ib_device_ops soft_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.alloc_pd = soft_alloc_pd,
	.create_ah = soft_create_ah,
	.create_cq = soft_create_cq,
	.create_qp = soft_create_qp,
	.dealloc_pd = soft_dealloc_pd,
	.dereg_mr = soft_dereg_mr,
	.destroy_ah = soft_destroy_ah,
	.destroy_cq = soft_destroy_cq,
	.destroy_qp = soft_destroy_qp,
	.get_dma_mr = soft_get_dma_mr,
	.get_port_immutable = soft_get_port_immutable,
	.modify_port = soft_modify_port,
	.modify_qp = soft_modify_qp,
	.poll_cq = soft_poll_cq,
	.post_recv = soft_post_recv,
	.post_send = soft_post_send,
	.process_mad = soft_process_mad,
	.query_ah = soft_query_ah,
	.query_device = soft_query_device,
	.query_gid = soft_query_gid,
	.query_pkey = soft_query_pkey,
	.query_port = soft_query_port,
	.reg_user_mr = soft_reg_user_mr,
	.req_notify_cq = soft_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_ah, soft_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, soft_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, soft_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, soft_qp, ib),
};

/* --- /dev/softhca --- */

static int create_device(struct file *file, const struct softhca_device *identity)
{
	struct soft_hca *hca;
	int code;

	if (file->private_data)
		return -EBUSY;
	if (!identity->port_count || identity->port_count > SOFTHCA_PORTS ||
	    strnlen(identity->name, sizeof(identity->name)) == sizeof(identity->name))
		return -EINVAL;
	hca = ib_alloc_device(soft_hca, ib);
	if (!hca)
		return -ENOMEM;
	spin_lock_init(&hca->lock);
	INIT_LIST_HEAD(&hca->outbox);
	INIT_LIST_HEAD(&hca->calls);
	init_waitqueue_head(&hca->called);
	init_waitqueue_head(&hca->readable);
	hca->identity = *identity;
	hca->ib.node_type = RDMA_NODE_IB_CA;
	hca->ib.phys_port_cnt = identity->port_count;
	hca->ib.num_comp_vectors = 1;
	hca->ib.node_guid = cpu_to_be64(identity->node_guid);
	memcpy(hca->ib.node_desc, identity->description, sizeof(identity->description));
	ib_set_device_ops(&hca->ib, &soft_ops);
	code = ib_register_device(&hca->ib, identity->name, NULL);
	if (code) {
		ib_dealloc_device(&hca->ib);
		return code;
	}
	file->private_data = hca;
	return 0;
}

static void report(struct soft_hca *hca, u32 port, enum ib_event_type type)
{
	struct ib_event event = { .device = &hca->ib, .element.port_num = port, .event = type };

	ib_dispatch_event(&event);
}

static int update_port(struct soft_hca *hca, const struct softhca_update *update)
{
	const struct softhca_port *to = &update->to;
	struct softhca_port *port, from;
	unsigned long flags;

	if (!update->port || update->port > hca->identity.port_count)
		return -EINVAL;
	port = &hca->identity.ports[update->port - 1];
	spin_lock_irqsave(&hca->lock, flags);
	from = *port;
	*port = *to;
	spin_unlock_irqrestore(&hca->lock, flags);
	if ((from.state == IB_PORT_ACTIVE) != (to->state == IB_PORT_ACTIVE))
		report(hca, update->port, to->state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	if (from.lid != to->lid || from.lmc != to->lmc)
		report(hca, update->port, IB_EVENT_LID_CHANGE);
	if (from.sm_lid != to->sm_lid || from.sm_sl != to->sm_sl)
		report(hca, update->port, IB_EVENT_SM_CHANGE);
	if (memcmp(from.pkeys, to->pkeys, sizeof(from.pkeys)))
		report(hca, update->port, IB_EVENT_PKEY_CHANGE);
	if (from.gid_prefix != to->gid_prefix || memcmp(from.guids, to->guids, sizeof(from.guids)))
		report(hca, update->port, IB_EVENT_GID_CHANGE);
	return 0;
}

static long soft_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct softhca_device *identity;
	struct softhca_update update;
	long code;

	switch (request) {
	case SOFTHCA_CREATE:
		identity = memdup_user((void __user *)argument, sizeof(*identity));
		if (IS_ERR(identity))
			return PTR_ERR(identity);
		code = create_device(file, identity);
		kfree(identity);
		return code;
	case SOFTHCA_UPDATE:
		if (!file->private_data)
			return -ENODEV;
		if (copy_from_user(&update, (void __user *)argument, sizeof(update)))
			return -EFAULT;
		return update_port(file->private_data, &update);
	}
	return -ENOTTY;
}

static struct soft_message *take_message(struct soft_hca *hca)
{
	struct soft_message *message;
	unsigned long flags;

	spin_lock_irqsave(&hca->lock, flags);
	message = list_first_entry_or_null(&hca->outbox, struct soft_message, list);
	if (message) {
		list_del(&message->list);
		hca->outbox_count--;
	}
	spin_unlock_irqrestore(&hca->lock, flags);
	return message;
}

/* Never blocks: -EAGAIN if there is nothing to send. */
static ssize_t soft_read(struct file *file, char __user *buffer, size_t size, loff_t *offset)
{
	struct soft_hca *hca = file->private_data;
	struct soft_message *message;
	ssize_t result = sizeof(message->data);

	if (!hca)
		return -ENODEV;
	if (size < sizeof(message->data))
		return -EINVAL;
	message = take_message(hca);
	if (!message)
		return -EAGAIN;
	if (copy_to_user(buffer, &message->data, sizeof(message->data)))
		result = -EFAULT;
	kfree(message);
	return result;
}

static ssize_t soft_write(struct file *file, const char __user *buffer, size_t size, loff_t *offset)
{
	struct soft_hca *hca = file->private_data;
	struct softhca_message data;

	if (!hca)
		return -ENODEV;
	if (size != sizeof(data))
		return -EINVAL;
	if (copy_from_user(&data, buffer, sizeof(data)))
		return -EFAULT;
	if (!data.port || data.port > hca->identity.port_count || data.qp > 1 || data.kind != SOFTHCA_MAD ||
	    data.length > SOFTHCA_MAD_SIZE)
		return -EINVAL;
	deliver(hca, &data);
	return size;
}

static __poll_t soft_poll(struct file *file, poll_table *table)
{
	struct soft_hca *hca = file->private_data;

	if (!hca)
		return EPOLLERR;
	poll_wait(file, &hca->readable, table);
	return EPOLLOUT | (READ_ONCE(hca->outbox_count) ? EPOLLIN : 0);
}

/* misc_open() stores the misc device here. */
static int soft_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

static int soft_release(struct inode *inode, struct file *file)
{
	struct soft_hca *hca = file->private_data;
	struct soft_message *message;

	if (!hca)
		return 0;
	ib_unregister_device(&hca->ib);
	while ((message = take_message(hca)))
		kfree(message);
	ib_dealloc_device(&hca->ib);
	return 0;
}

static const struct file_operations soft_file = {
	.owner = THIS_MODULE,
	.open = soft_open,
	.release = soft_release,
	.read = soft_read,
	.write = soft_write,
	.poll = soft_poll,
	.unlocked_ioctl = soft_ioctl,
};

static struct miscdevice soft_misc = { .minor = MISC_DYNAMIC_MINOR, .name = "softhca", .fops = &soft_file };

module_misc_device(soft_misc);
MODULE_DESCRIPTION("software HCA for MADs, a test of ibwire");
MODULE_LICENSE("Dual BSD/GPL");
