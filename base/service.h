/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* service.h - messages to the service manager (systemd) */
#ifndef IBWIRE_BASE_SERVICE_H
#define IBWIRE_BASE_SERVICE_H

/*
 * service_notify - send a state to the service manager that started this process
 * @state:  "READY=1", "WATCHDOG=1", "STATUS=...", several separated by newlines
 *
 * Does nothing without $NOTIFY_SOCKET, and never blocks. Source of the protocol: sd_notify(3).
 */
void service_notify(const char *state);

#endif
