-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- A database that ibwire wrote while its schema had version 1: storage/file/migrate_test and upgrade_test.py
-- migrate it. Made with commit fc7a9cd9, and dumped by Connection.iterdump() of Python's sqlite3; the id of the
-- boot is replaced, and the first and the last line of statements are added. Each table has rows. To have few,
-- windows had 9 sweeps (.window_sweeps in cli/collect.c), NET is "ibwire-sim net rail --units 1 --hosts 2
-- --rails 1 --spines 1" with switches of 7 and 3 ports, and the wall clock began at 20:59:57, so that a window
-- is in an hour that is over.
--
--     ibwire-sim run --net NET --traffic 'ring rate=80Gb/s' -- sh -c '
--         ibwire collect --settings SETTINGS --interval 1s --count 20 &
--         # after 1 sweep
--         ibwire-sim break errors leaf-u01-r0/1 symbol_errors=7200 rcv_errors=3600
--         ibwire-sim break unplug leaf-u01-r0/3
--         ibwire-sim pma "leaf-u01-r0 port=1 local_physical_errors=3"
--         # after 10 sweeps
--         ibwire health ack 1 --reason "cable ordered" --for 1d
--         ibwire-sim pma "leaf-u01-r0 port=1 local_physical_errors=5"
--         ibwire-sim repair unplug; ibwire-sim opensm restart; wait
--         ibwire snapshot take first --fast --note "of version 1"'
--
-- SETTINGS: link_down_after = 1s and state_recovery = 1s in [health].
PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = 1768060786; PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE absolute ( -- absolute values: first and periodic readings, last one before a span
	sweep INTEGER NOT NULL,
	port INTEGER NOT NULL,
	at_us INTEGER NOT NULL, -- CLOCK_BOOTTIME of the response, us
	wall_us INTEGER NOT NULL, -- wall clock of the response, us since 1970 UTC
	wide INTEGER NOT NULL, -- set of counters read with 64 bits: 1 << counter.id
	xmit_data INTEGER, -- PortXmitData, words; NULL: not known
	rcv_data INTEGER, -- PortRcvData, words; NULL: not known
	xmit_packets INTEGER, -- PortXmitPkts, packets; NULL: not known
	rcv_packets INTEGER, -- PortRcvPkts, packets; NULL: not known
	xmit_wait INTEGER, -- PortXmitWait, ticks; NULL: not known
	unicast_xmit_packets INTEGER, -- PortUnicastXmitPkts, packets; NULL: not known
	unicast_rcv_packets INTEGER, -- PortUnicastRcvPkts, packets; NULL: not known
	multicast_xmit_packets INTEGER, -- PortMulticastXmitPkts, packets; NULL: not known
	multicast_rcv_packets INTEGER, -- PortMulticastRcvPkts, packets; NULL: not known
	symbol_errors INTEGER, -- SymbolErrorCounter, errors; NULL: not known
	link_error_recovery INTEGER, -- LinkErrorRecoveryCounter, recoveries; NULL: not known
	link_downed INTEGER, -- LinkDownedCounter, downs; NULL: not known
	rcv_errors INTEGER, -- PortRcvErrors, packets; NULL: not known
	rcv_remote_physical_errors INTEGER, -- PortRcvRemotePhysicalErrors, packets; NULL: not known
	rcv_switch_relay_errors INTEGER, -- PortRcvSwitchRelayErrors, packets; NULL: not known
	xmit_discards INTEGER, -- PortXmitDiscards, packets; NULL: not known
	xmit_constraint_errors INTEGER, -- PortXmitConstraintErrors, packets; NULL: not known
	rcv_constraint_errors INTEGER, -- PortRcvConstraintErrors, packets; NULL: not known
	local_link_integrity_errors INTEGER, -- LocalLinkIntegrityErrors, errors; NULL: not known
	excessive_buffer_overrun_errors INTEGER, -- ExcessiveBufferOverrunErrors, errors; NULL: not known
	qp1_dropped INTEGER, -- QP1Dropped, packets; NULL: not known
	vl15_dropped INTEGER, -- VL15Dropped, packets; NULL: not known
	CONSTRAINT absolute_range CHECK (
		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND
		wall_us BETWEEN 0 AND 253402300799999999),
	PRIMARY KEY (sweep, port)
) WITHOUT ROWID, STRICT;
INSERT INTO "absolute" VALUES(1,1,70001310445,1795467598031360,495,8784,8856,122,123,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,2,70001310537,1795467598031452,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,3,70001311138,1795467598032053,495,2520,2952,35,41,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,4,70001311368,1795467598032283,495,792,288,11,4,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,6,70001310476,1795467598031391,495,125854720,125854792,122203,122204,0,122188,122188,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,7,70001310536,1795467598031451,495,125854720,125854792,122203,122204,0,122188,122188,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,8,70001310551,1795467598031466,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,9,70001311160,1795467598032075,495,125854792,125854792,122204,122204,0,122188,122188,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,10,70001311369,1795467598032284,495,125854792,125854792,122204,122204,0,122188,122188,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,11,70001311512,1795467598032427,495,3096,2520,43,35,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,12,70001311674,1795467598032589,495,288,864,4,12,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,13,70001311853,1795467598032768,495,8856,8856,123,123,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,14,70001316440,1795467598037355,495,5184,5256,72,73,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(1,16,70001310537,1795467598031452,495,3960,3960,55,55,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,1,70005303806,1795467602024720,495,15264,15408,212,214,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,2,70005303806,1795467602024720,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,3,70005303990,1795467602024904,495,2520,3168,35,44,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,4,70005304179,1795467602025093,495,4392,3816,61,53,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,6,70005303840,1795467602024754,495,1113633154,1113633226,1081227,1081228,0,1081195,1081195,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,7,70005303840,1795467602024754,495,1113633154,1113633226,1081227,1081228,0,1081195,1081195,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,8,70005303841,1795467602024755,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,9,70005304049,1795467602024963,495,1113633226,1113633226,1081228,1081228,0,1081195,1081195,0,0,7,0,0,3,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,10,70005304244,1795467602025158,495,1113633226,1113633226,1081228,1081228,0,1081195,1081195,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,11,70005304361,1795467602025275,495,3168,2520,44,35,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,12,70005304451,1795467602025365,495,3888,4536,54,63,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,13,70005304563,1795467602025477,495,15408,15336,214,213,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,14,70005304654,1795467602025568,495,15048,15120,209,210,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(5,16,70005303877,1795467602024791,495,13896,13896,193,193,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(6,3,70006303653,1795467603024567,495,2520,3168,35,44,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(6,11,70006304117,1795467603025031,495,3168,2520,44,35,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(12,3,70012364796,1795467609085710,495,6624,8280,92,115,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(12,11,70012365043,1795467609085957,495,8496,6624,118,92,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,1,70014305074,1795467611025988,495,34776,35064,483,487,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,2,70014305074,1795467611025988,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,3,70014307427,1795467611028341,495,6624,9576,92,133,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,4,70014312183,1795467611033097,495,10296,7200,143,100,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,6,70014305089,1795467611026003,495,3365453964,3365454036,3267498,3267499,0,3267426,3267426,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,7,70014305090,1795467611026004,495,3365453892,3365453964,3267497,3267498,0,3267426,3267426,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,8,70014305090,1795467611026004,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,9,70014307468,1795467611028382,495,3365454036,3365454036,3267499,3267499,0,3267426,3267426,0,0,25,0,0,12,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,10,70014312468,1795467611033382,495,3365454036,3365454036,3267499,3267499,0,3267426,3267426,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,11,70014312939,1795467611033853,495,9864,6624,137,92,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,12,70014324167,1795467611045081,495,7200,10512,100,146,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,13,70014324526,1795467611045440,495,35064,34848,487,484,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,14,70014332167,1795467611053081,495,38952,39024,541,542,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(14,16,70014305093,1795467611026007,495,37656,37656,523,523,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,1,70020304320,1795467617025235,495,36360,36720,505,510,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,2,70020304357,1795467617025272,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,3,70020304502,1795467617025417,495,6624,12744,92,177,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,4,70020304653,1795467617025568,495,13464,7200,187,100,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,6,70020304359,1795467617025274,495,4853490678,4853490750,4712205,4712206,0,4712121,4712121,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,7,70020304360,1795467617025275,495,4853490606,4853490678,4712204,4712205,0,4712121,4712121,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,8,70020304360,1795467617025275,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,9,70020304550,1795467617025465,495,4853490750,4853490750,4712206,4712206,0,4712121,4712121,0,0,37,0,0,18,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,10,70020304656,1795467617025571,495,4853490750,4853490750,4712206,4712206,0,4712121,4712121,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,11,70020304810,1795467617025725,495,13032,6624,181,92,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,12,70020304930,1795467617025845,495,7200,13824,100,192,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,13,70020305046,1795467617025961,495,36720,36504,510,507,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,14,70020305134,1795467617026049,495,53208,53280,739,740,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO "absolute" VALUES(20,16,70020304362,1795467617025277,495,51768,51696,719,718,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0);
CREATE TABLE acknowledgement ( -- acknowledged findings (ibwire health ack)
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL, -- this and the next three columns as in finding
	node_guid INTEGER,
	port INTEGER NOT NULL,
	tag INTEGER NOT NULL,
	at_us INTEGER NOT NULL, -- time of the acknowledgement
	until_us INTEGER, -- end of the acknowledgement; NULL: until revoked
	person TEXT NOT NULL, -- login name
	reason TEXT NOT NULL,
	CONSTRAINT acknowledgement_range CHECK (
		id > 0 AND port BETWEEN 0 AND 255 AND at_us BETWEEN 0 AND 253402300799999999 AND
		until_us BETWEEN 0 AND 253402300799999999)
) STRICT;
INSERT INTO "acknowledgement" VALUES(1,'routes-changed',-5129892432783081344,0,0,1795467607157378,1795554007157378,'root','cable ordered');
CREATE TABLE boot ( -- origin of start_us and at_us: a boot of the collector's host
	id INTEGER PRIMARY KEY,
	boot_id TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "boot" VALUES(1,'00000000-0000-0000-0000-000000000001');
CREATE TABLE caps ( -- capabilities of a node's performance agent
	node INTEGER PRIMARY KEY REFERENCES node (id),
	known INTEGER NOT NULL,
	cap_mask INTEGER NOT NULL,
	cap_mask2 INTEGER NOT NULL,
	resp_time INTEGER NOT NULL, -- 4.096 us * 2^n
	tick INTEGER, -- xmit_wait counts (tick + 1) symbol times; NULL: not known
	missing INTEGER NOT NULL DEFAULT 0, -- set of unsupported attributes: 1 << attribute (code),
		-- 64 PortCountersExtended, 128 PortSamplesControl
	CONSTRAINT caps_range CHECK (node BETWEEN 1 AND 2097151)
) STRICT;
INSERT INTO "caps" VALUES(1,1,4608,0,18,NULL,136);
INSERT INTO "caps" VALUES(2,1,4864,0,18,NULL,128);
INSERT INTO "caps" VALUES(3,1,4608,0,18,NULL,128);
INSERT INTO "caps" VALUES(4,1,4608,0,18,NULL,128);
INSERT INTO "caps" VALUES(5,1,4864,0,18,NULL,128);
INSERT INTO "caps" VALUES(6,1,4608,0,18,NULL,128);
CREATE TABLE chunk ( -- samples of one port in one window; no row: no sweep read the port
	id INTEGER PRIMARY KEY, -- window * 2097152 + port
	samples BLOB NOT NULL, -- packed, one per sweep of the window
	CONSTRAINT chunk_range CHECK (id / 2097152 BETWEEN 1 AND 1099511627776)
) STRICT;
INSERT INTO "chunk" VALUES(2097153,X'C105782C0000A0408513CFA3F1CEBE45C5354AC0067000BE2A011BC0011CCBE2388E0310C8E2388E0310780D0A806053830220E804');
INSERT INTO "chunk" VALUES(2097154,X'C105782C0000A0408513CFA3F1E57E447535FF01');
INSERT INTO "chunk" VALUES(2097155,X'C105782C0000A040C517CFA331E1ECE4B135050048003B8BE3380E080020C01700604001');
INSERT INTO "chunk" VALUES(2097156,X'C105782C0000A040451FCFA3B1EC9CED11360416A0C522D47DC48F105880168BC0F6113FC2E2388E0310C8E2388E0310780285A8C27746A0105578CE00');
INSERT INTO "chunk" VALUES(2097158,X'C105782C0000A0400514CFA3F1D46E44BD35043A2864391E9A230E2B7B100B40C86403087450C8723C34471C56F620168090C9069034E80F281080009334E80F281080005F830610D845830610D805');
INSERT INTO "chunk" VALUES(2097159,X'C105782C0000A040C513CFA3F1E27E44C135043A9863391E9A930D2B7B070B40586503087430C7723C34271B56F60E1680B0CA069034E80F281080009334E80F281080005F830610D844830610D804');
INSERT INTO "chunk" VALUES(2097160,X'C105782C0000A0404513CFA331E62E44C935FF01');
INSERT INTO "chunk" VALUES(2097161,X'C105782C0000A040C517CFA3F1E16CE57136043A2864391E9A230E2B7B100B40C86403087450C8723C34471C56F620168090C9069034E80F281080009334E80F281080005F830610D845830610D805');
INSERT INTO "chunk" VALUES(2097162,X'C105782C0000A0408521CFA331EE3CED8136043A2864391E9A930D2B7B190B40C86403087450C8723C34271B56F632168090C9069034E80F281080809334E80F281080805F8203087C21C10104BE00');
INSERT INTO "chunk" VALUES(2097163,X'C105782C0000A040051ECFA371E4CCEF0137020020800C00080020C0170020C0');
INSERT INTO "chunk" VALUES(2097164,X'C105782C0000A040451DCFA331DB8CF62D370416A005231CFA115F83C002B46004483FE26BB0388EE30004B2388EE300049E01E163382C6140F8181E4B00');
INSERT INTO "chunk" VALUES(2097165,X'C105782C0000A040451ECFA371F65CF7C9374AC0067000C72A011BC001F8CAE2388E0310C8E2388E0310780D0A80A053830220D804');
INSERT INTO "chunk" VALUES(2097166,X'C105782C0000A040C518CFC3715ABDE6A5E020D000995084DF8FFE48A00132A108BF1FFD91C5711C072090C5711C0720F00C0CBF0A8F6518187E151ECB00');
INSERT INTO "chunk" VALUES(2097168,X'C105782C0000A040851BCFA371EA4E464D35041A20138AD07EC48F0834402614A1FD881FB1388EE30004B2388EE300049EC02128C2572370088AF0D500');
INSERT INTO "chunk" VALUES(4194305,X'C109620100005D18429F882D510715E4AAB684298B74BF7D7BDEC4A30001F1F404F4F40C4708185000904002362004092054619080D002581CC7710002591CC77100024F60D02488AF7782180CCA04147EF6BE00');
INSERT INTO "chunk" VALUES(4194306,X'C109620100005D18429F882CA18D4FE4AA2A84209374FF6C7B56F41F');
INSERT INTO "chunk" VALUES(4194307,X'C10904C70200000A541C433D305F3F00825C696ED20F4000004710A016100D70F050042EB2388EE38000008264711CC701090408F002001C8AAB10030E48DA03');
INSERT INTO "chunk" VALUES(4194308,X'C10962010000551A845E110BAAC42F737851E2E97EDFDFCEFDE241105840148A90FCF16B5FFB5AB0C30F0105D85004F22308E48F7EFD6B16C7711C804016C7711C90C080C0C5275088208CD85ABB1B028405E115BC9433');
INSERT INTO "chunk" VALUES(4194310,X'C109620100005D18429F884B218E50C4AA464422A3757F737B52446A41786982BF36FFEF63183A4756FF1EAAEEC7467E1A321CC4F333EE1F26B520BC34C15F9BFFF7310C9D23AB7F0F55F763233F0D190EE2F919F70F9334E80F2830C050A409240DFA030A0C301469C22538C050A70D121C60A8D306');
INSERT INTO "chunk" VALUES(4194311,X'C109620100005D18429F884B318E51E4AAA64318BB753F747B52446A41786982BF36FFEF63183A4756FF1EAAEEC7467E1A321C34F333EE1F26B520BC34C15F9BFFF7310C9D23AB7F0F55F763233F0D190E9AF919F70F9334E80F100894019C5C481AF4070804CA004E2E27207806F0E70D01C133803F6F00');
INSERT INTO "chunk" VALUES(4194312,X'C109620100005D18429F884B218E50C4AAA20318BB753F747B52F41F');
INSERT INTO "chunk" VALUES(4194313,X'C10962010000551A845E1191E2492A037611E2E78ADE9FCCFDCC1D905A105E9AE0AFCDFFFB1886CE91D5BF87AAFBB1919F860C07F1FC8CFB87492D082F4DF0D7E6FF7D0C43E7C8EADF43D5FDD8C84F438683787EC6FDC3240DFA030A0C301469024983FE8002030C459A70090E30D46983040718EAB401');
INSERT INTO "chunk" VALUES(4194314,X'C10962010000551A845E117F52421DA3776732EACADE7FCEFDB843905A105E9AE0AFCDFFFB1886CE91D5BF87AAFBB1919F860C07F1FC8CFB87492D082F4DF0D7E6FF7D0C43E7C8EADF43D5FDD8C84F438683787EC6FDC3240DFA030A0C301469024983FE8002030C459A70090E30D46983040718EAB401');
INSERT INTO "chunk" VALUES(4194315,X'C10904C70200000A54C8943D30978F0062B268BE161180C002B470FC2C02903E020200388200591CC7714002010264711CC701010004790A840722C4414B00804371');
INSERT INTO "chunk" VALUES(4194316,X'C109620100005D18409F086B5112BAE56FC1A6DCBDC55F8C7CEB480828C086229010A41FFDFAD70416808422483FFAD18F7E14FEF0870D8BE3380E486040E06216C7711C80C013202C080F4ECA9902E1437044C47D1700');
INSERT INTO "chunk" VALUES(4194317,X'C109620100005D18449F08FA9447E564EF1A2E083B647F0BFA8A8BF028C0413C01013D3D1FA070E0837BF228C0403C01013DFB0E470838C480278BE3380E40208BE3380E40E0190CBA040A9F7D2F04065542D9AFF70500');
INSERT INTO "chunk" VALUES(4194318,X'C109620100005D18449F0843F54D8DC4E9C24E13BB607FFDF944C63031906104CD478F7CECC7B03A880E63003031906084161F3DF2D1EB201A684314002C8EE33800812C8EE3380081E750F83414240CAF6F2B70287C1A0A12F2DBFB02');
INSERT INTO "chunk" VALUES(4194320,X'C109620100005D18429F886D318E51C4AA9EC317C3753F747B52C4C48092E1896FFEF7B1D70FC4010C90FF4C0C28199EF8D6A33EF6FAC13A3841F49FC5711C072090C5711C0720F01C0A9F0635407EBB77A060F8632833F2F2EE08');
CREATE TABLE chunk_error ( -- sums of error counters that increased or were only partly known
	window INTEGER NOT NULL, -- chunk_window.id
	port INTEGER NOT NULL,
	counter INTEGER NOT NULL REFERENCES counter (id),
	value INTEGER NOT NULL, -- lower bound if chunk_sum.reset or .saturated has the counter's bit
	CONSTRAINT chunk_error_range CHECK (
		window BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),
	PRIMARY KEY (window, port, counter)
) WITHOUT ROWID, STRICT;
INSERT INTO "chunk_error" VALUES(1,3,15,1);
INSERT INTO "chunk_error" VALUES(1,9,9,7);
INSERT INTO "chunk_error" VALUES(1,9,12,3);
INSERT INTO "chunk_error" VALUES(2,9,9,18);
INSERT INTO "chunk_error" VALUES(2,9,12,9);
CREATE TABLE chunk_sum ( -- sums of one port in one window; no row: the port was not read
	window INTEGER NOT NULL, -- chunk_window.id
	port INTEGER NOT NULL,
	samples INTEGER NOT NULL, -- number of sweeps with a delta
	elapsed_us INTEGER NOT NULL, -- sum of their times
	unknown INTEGER NOT NULL, -- set of counters not known in every delta: 1 << counter.id
	reset INTEGER NOT NULL, -- set of counters that were reset: the sum is a lower bound
	saturated INTEGER NOT NULL, -- set of counters that were saturated: the sum is a lower bound
	xmit_data INTEGER, -- PortXmitData, words; NULL: not known
	rcv_data INTEGER, -- PortRcvData, words; NULL: not known
	xmit_packets INTEGER, -- PortXmitPkts, packets; NULL: not known
	rcv_packets INTEGER, -- PortRcvPkts, packets; NULL: not known
	xmit_wait INTEGER, -- PortXmitWait, ticks; NULL: not known
	unicast_xmit_packets INTEGER, -- PortUnicastXmitPkts, packets; NULL: not known
	unicast_rcv_packets INTEGER, -- PortUnicastRcvPkts, packets; NULL: not known
	multicast_xmit_packets INTEGER, -- PortMulticastXmitPkts, packets; NULL: not known
	multicast_rcv_packets INTEGER, -- PortMulticastRcvPkts, packets; NULL: not known
	CONSTRAINT chunk_sum_range CHECK (
		window BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND samples > 0 AND
		elapsed_us >= 0),
	PRIMARY KEY (window, port)
) WITHOUT ROWID, STRICT;
INSERT INTO "chunk_sum" VALUES(1,1,4,3993361,1048576,0,0,6480,6552,90,91,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,2,4,3993269,1048576,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,3,4,3992852,1048576,0,0,0,216,0,3,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,4,4,3992811,1048576,0,0,3600,3528,50,49,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,6,4,3993364,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "chunk_sum" VALUES(1,7,4,3993304,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "chunk_sum" VALUES(1,8,4,3993290,1048576,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,9,4,3992889,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "chunk_sum" VALUES(1,10,4,3992875,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "chunk_sum" VALUES(1,11,4,3992849,1048576,0,0,72,0,1,0,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,12,4,3992777,1048576,0,0,3600,3672,50,51,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,13,4,3992710,1048576,0,0,6552,6480,91,90,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,14,4,3988214,1048576,0,0,9864,9864,137,137,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(1,16,4,3993340,1048576,0,0,9936,9936,138,138,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,1,9,9001268,1048576,0,0,19512,19656,271,273,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,2,9,9001268,1048576,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,3,4,9003437,1048576,0,0,4104,6408,57,89,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,4,9,9008004,1048576,0,0,5904,3384,82,47,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,6,9,9001249,1048576,0,0,2251820810,2251820810,2186271,2186271,0,2186231,2186231,0,0);
INSERT INTO "chunk_sum" VALUES(2,7,9,9001250,1048576,0,0,2251820738,2251820738,2186270,2186270,0,2186231,2186231,0,0);
INSERT INTO "chunk_sum" VALUES(2,8,9,9001249,1048576,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,9,9,9003419,1048576,0,0,2251820810,2251820810,2186271,2186271,0,2186231,2186231,0,0);
INSERT INTO "chunk_sum" VALUES(2,10,9,9008224,1048576,0,0,2251820810,2251820810,2186271,2186271,0,2186231,2186231,0,0);
INSERT INTO "chunk_sum" VALUES(2,11,4,9008578,1048576,0,0,6696,4104,93,57,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,12,9,9019716,1048576,0,0,3312,5976,46,83,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,13,9,9019963,1048576,0,0,19656,19512,273,271,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,14,9,9027513,1048576,0,0,23904,23904,332,332,0,0,0,0,0);
INSERT INTO "chunk_sum" VALUES(2,16,9,9001216,1048576,0,0,23760,23760,330,330,0,0,0,0,0);
CREATE TABLE chunk_window ( -- a run of sweeps whose samples are stored in one chunk per port
	id INTEGER PRIMARY KEY, -- in order of sweeps; each window begins where the previous one ends
	from_sweep INTEGER NOT NULL, -- the first
	to_sweep INTEGER NOT NULL, -- the first after it
	from_us INTEGER NOT NULL, -- wall clock of the first sweep, us since 1970 UTC
	to_us INTEGER NOT NULL, -- wall clock of the last sweep
	state INTEGER NOT NULL, -- code window_state: 0 being written, samples still in hot;
		-- 1 chunks and sums; 2 sums only, the chunks expired
	next_port INTEGER NOT NULL, -- while being written: first port without its chunk
	CONSTRAINT chunk_window_range CHECK (
		id BETWEEN 1 AND 1099511627776 AND from_sweep BETWEEN 1 AND 1099511627776 AND
		to_sweep > from_sweep AND to_sweep BETWEEN 1 AND 1099511627776 AND
		from_us BETWEEN 0 AND 253402300799999999 AND
		to_us BETWEEN 0 AND 253402300799999999 AND state BETWEEN 0 AND 2 AND
		next_port BETWEEN -1 AND 2097664)
) STRICT;
INSERT INTO "chunk_window" VALUES(1,1,6,1795467598023872,1795467602023992,1,512);
INSERT INTO "chunk_window" VALUES(2,6,15,1795467603023951,1795467611023972,1,512);
CREATE TABLE code ( -- names of coded values: node_type, state, speed, width, why, attribute ...
	kind TEXT NOT NULL,
	value INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (kind, value)
) WITHOUT ROWID, STRICT;
INSERT INTO "code" VALUES('attribute',0,'rcv_error_details');
INSERT INTO "code" VALUES('attribute',1,'xmit_discard_details');
INSERT INTO "code" VALUES('attribute',2,'vl_xmit_wait');
INSERT INTO "code" VALUES('attribute',3,'extended_speeds');
INSERT INTO "code" VALUES('layout',1,'lanes');
INSERT INTO "code" VALUES('layout',2,'rs');
INSERT INTO "code" VALUES('layout',3,'rs-544');
INSERT INTO "code" VALUES('node_type',1,'ca');
INSERT INTO "code" VALUES('node_type',2,'switch');
INSERT INTO "code" VALUES('node_type',3,'router');
INSERT INTO "code" VALUES('phys_state',1,'Sleep');
INSERT INTO "code" VALUES('phys_state',2,'Polling');
INSERT INTO "code" VALUES('phys_state',3,'Disabled');
INSERT INTO "code" VALUES('phys_state',4,'Training');
INSERT INTO "code" VALUES('phys_state',5,'LinkUp');
INSERT INTO "code" VALUES('phys_state',6,'ErrorRecovery');
INSERT INTO "code" VALUES('phys_state',7,'PhyTest');
INSERT INTO "code" VALUES('severity',0,'info');
INSERT INTO "code" VALUES('severity',1,'warning');
INSERT INTO "code" VALUES('severity',2,'critical');
INSERT INTO "code" VALUES('speed',1,'SDR');
INSERT INTO "code" VALUES('speed',2,'DDR');
INSERT INTO "code" VALUES('speed',3,'QDR');
INSERT INTO "code" VALUES('speed',4,'FDR10');
INSERT INTO "code" VALUES('speed',5,'FDR');
INSERT INTO "code" VALUES('speed',6,'EDR');
INSERT INTO "code" VALUES('speed',7,'HDR');
INSERT INTO "code" VALUES('speed',8,'NDR');
INSERT INTO "code" VALUES('speed',9,'XDR');
INSERT INTO "code" VALUES('state',1,'Down');
INSERT INTO "code" VALUES('state',2,'Init');
INSERT INTO "code" VALUES('state',3,'Armed');
INSERT INTO "code" VALUES('state',4,'Active');
INSERT INTO "code" VALUES('why',1,'silent');
INSERT INTO "code" VALUES('why',2,'backoff');
INSERT INTO "code" VALUES('why',3,'down');
INSERT INTO "code" VALUES('why',4,'locked');
INSERT INTO "code" VALUES('why',5,'unsupported');
INSERT INTO "code" VALUES('why',6,'unplanned');
INSERT INTO "code" VALUES('why',7,'unfinished');
INSERT INTO "code" VALUES('why',100,'absent');
INSERT INTO "code" VALUES('width',1,'1x');
INSERT INTO "code" VALUES('width',2,'4x');
INSERT INTO "code" VALUES('width',4,'8x');
INSERT INTO "code" VALUES('width',8,'12x');
INSERT INTO "code" VALUES('width',16,'2x');
INSERT INTO "code" VALUES('window_state',0,'being written');
INSERT INTO "code" VALUES('window_state',1,'complete');
INSERT INTO "code" VALUES('window_state',2,'sums only');
CREATE TABLE counter ( -- catalogue of counters; sets of counters have bit 1 << id
	id INTEGER PRIMARY KEY,
	key TEXT NOT NULL,
	title TEXT NOT NULL, -- name in the specification
	unit TEXT NOT NULL,
	meaning TEXT NOT NULL,
	CONSTRAINT counter_range CHECK (id BETWEEN 0 AND 63)
) STRICT;
INSERT INTO "counter" VALUES(0,'xmit_data','PortXmitData','words','data sent, in words of 4 bytes');
INSERT INTO "counter" VALUES(1,'rcv_data','PortRcvData','words','data received, in words of 4 bytes');
INSERT INTO "counter" VALUES(2,'xmit_packets','PortXmitPkts','packets','packets sent');
INSERT INTO "counter" VALUES(3,'rcv_packets','PortRcvPkts','packets','packets received');
INSERT INTO "counter" VALUES(4,'xmit_wait','PortXmitWait','ticks','time with data to send and no credits, in ticks of the device');
INSERT INTO "counter" VALUES(5,'unicast_xmit_packets','PortUnicastXmitPkts','packets','unicast packets sent');
INSERT INTO "counter" VALUES(6,'unicast_rcv_packets','PortUnicastRcvPkts','packets','unicast packets received');
INSERT INTO "counter" VALUES(7,'multicast_xmit_packets','PortMulticastXmitPkts','packets','multicast packets sent');
INSERT INTO "counter" VALUES(8,'multicast_rcv_packets','PortMulticastRcvPkts','packets','multicast packets received');
INSERT INTO "counter" VALUES(9,'symbol_errors','SymbolErrorCounter','errors','minor link errors; with FEC, those that FEC could not correct');
INSERT INTO "counter" VALUES(10,'link_error_recovery','LinkErrorRecoveryCounter','recoveries','times that the link recovered by retraining');
INSERT INTO "counter" VALUES(11,'link_downed','LinkDownedCounter','downs','times that link recovery failed and the link went down');
INSERT INTO "counter" VALUES(12,'rcv_errors','PortRcvErrors','packets','packets received with an error: physical, malformed, or buffer overrun');
INSERT INTO "counter" VALUES(13,'rcv_remote_physical_errors','PortRcvRemotePhysicalErrors','packets','packets marked as bad by an earlier hop: the fault is upstream');
INSERT INTO "counter" VALUES(14,'rcv_switch_relay_errors','PortRcvSwitchRelayErrors','packets','packets that a switch could not forward; normal with multicast');
INSERT INTO "counter" VALUES(15,'xmit_discards','PortXmitDiscards','packets','packets discarded because the port was down or without credits for too long');
INSERT INTO "counter" VALUES(16,'xmit_constraint_errors','PortXmitConstraintErrors','packets','packets not sent: partition or raw filter of a switch');
INSERT INTO "counter" VALUES(17,'rcv_constraint_errors','PortRcvConstraintErrors','packets','packets received and discarded: partition or raw filter of a switch');
INSERT INTO "counter" VALUES(18,'local_link_integrity_errors','LocalLinkIntegrityErrors','errors','times that local errors exceeded the threshold of the port');
INSERT INTO "counter" VALUES(19,'excessive_buffer_overrun_errors','ExcessiveBufferOverrunErrors','errors','times that buffers overran repeatedly');
INSERT INTO "counter" VALUES(20,'qp1_dropped','QP1Dropped','packets','management packets to QP1 dropped for lack of resources');
INSERT INTO "counter" VALUES(21,'vl15_dropped','VL15Dropped','packets','subnet management packets dropped for lack of resources');
CREATE TABLE detail ( -- a reading of one attribute of slow counters of one port
	sweep INTEGER NOT NULL,
	port INTEGER NOT NULL,
	attribute INTEGER NOT NULL, -- code attribute
	at_us INTEGER NOT NULL, -- CLOCK_BOOTTIME of the response, us
	elapsed_us INTEGER, -- since the previous reading; NULL: none
	layout INTEGER NOT NULL, -- code layout, of extended_speeds; 0: unknown or none
	missing INTEGER NOT NULL, -- set of counters that were not read: 1 << number
	unknown INTEGER NOT NULL, -- set of counters without a known increase: 1 << number
	CONSTRAINT detail_range CHECK (
		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND
		elapsed_us >= 0),
	PRIMARY KEY (sweep, port, attribute)
) WITHOUT ROWID, STRICT;
INSERT INTO "detail" VALUES(2,3,1,70002309158,NULL,0,0,15);
INSERT INTO "detail" VALUES(3,9,0,70003304151,NULL,0,0,63);
INSERT INTO "detail" VALUES(4,9,0,70004306263,1002112,0,0,0);
INSERT INTO "detail" VALUES(5,9,0,70005304831,998568,0,0,0);
INSERT INTO "detail" VALUES(6,9,0,70006305874,1001043,0,0,0);
INSERT INTO "detail" VALUES(7,9,0,70007304547,998673,0,0,0);
INSERT INTO "detail" VALUES(8,9,0,70008304387,999840,0,0,0);
INSERT INTO "detail" VALUES(9,9,0,70009305614,1001227,0,0,0);
INSERT INTO "detail" VALUES(10,9,0,70010303970,998356,0,0,0);
INSERT INTO "detail" VALUES(11,9,0,70011304615,1000645,0,0,0);
INSERT INTO "detail" VALUES(12,9,0,70012365362,1060747,0,0,0);
INSERT INTO "detail" VALUES(13,9,0,70013306476,941114,0,0,0);
INSERT INTO "detail" VALUES(14,9,0,70014339368,1032892,0,0,0);
INSERT INTO "detail" VALUES(15,9,0,70015304263,964895,0,0,0);
INSERT INTO "detail" VALUES(16,9,0,70016306266,1002003,0,0,0);
INSERT INTO "detail" VALUES(17,9,0,70017340410,1034144,0,0,0);
INSERT INTO "detail" VALUES(18,9,0,70018304315,963905,0,0,0);
INSERT INTO "detail" VALUES(19,1,0,70019304396,NULL,0,0,63);
INSERT INTO "detail" VALUES(19,1,1,70019304500,NULL,0,0,15);
INSERT INTO "detail" VALUES(19,1,2,70019304596,NULL,0,0,65535);
INSERT INTO "detail" VALUES(19,9,0,70019305481,1001166,0,0,0);
INSERT INTO "detail" VALUES(20,2,0,70020304755,NULL,0,0,63);
INSERT INTO "detail" VALUES(20,2,1,70020304829,NULL,0,0,15);
INSERT INTO "detail" VALUES(20,2,2,70020304916,NULL,0,0,65535);
INSERT INTO "detail" VALUES(20,9,0,70020305218,999737,0,0,0);
CREATE TABLE detail_counter ( -- catalogue of slow counters
	id INTEGER PRIMARY KEY, -- 32 * attribute + number
	attribute INTEGER NOT NULL, -- code attribute
	number INTEGER NOT NULL, -- within the attribute; bit 1 << number in sets
	key TEXT NOT NULL,
	unit TEXT NOT NULL,
	meaning TEXT NOT NULL,
	max INTEGER NOT NULL, -- maximum, at which it stops
	UNIQUE (attribute, number)
) STRICT;
INSERT INTO "detail_counter" VALUES(0,0,0,'local_physical_errors','packets','received with a checksum error or a physical error',65535);
INSERT INTO "detail_counter" VALUES(1,0,1,'malformed_packet_errors','packets','received with a wrong length, LVer or VL',65535);
INSERT INTO "detail_counter" VALUES(2,0,2,'buffer_overrun_errors','packets','received without a free buffer',65535);
INSERT INTO "detail_counter" VALUES(3,0,3,'dlid_mapping_errors','packets','received for a LID without a forwarding entry',65535);
INSERT INTO "detail_counter" VALUES(4,0,4,'vl_mapping_errors','packets','received with a service level that maps to no VL',65535);
INSERT INTO "detail_counter" VALUES(5,0,5,'looping_errors','packets','received and routed back to the port of arrival',65535);
INSERT INTO "detail_counter" VALUES(32,1,0,'inactive_discards','packets','discarded because the port was not active',65535);
INSERT INTO "detail_counter" VALUES(33,1,1,'neighbor_mtu_discards','packets','discarded because they exceed the MTU of the neighbor',65535);
INSERT INTO "detail_counter" VALUES(34,1,2,'switch_lifetime_discards','packets','discarded because their switch lifetime expired',65535);
INSERT INTO "detail_counter" VALUES(35,1,3,'switch_hoq_discards','packets','discarded because their head-of-queue lifetime expired',65535);
INSERT INTO "detail_counter" VALUES(64,2,0,'xmit_wait_vl0','ticks','the part of PortXmitWait on VL 0',65535);
INSERT INTO "detail_counter" VALUES(65,2,1,'xmit_wait_vl1','ticks','the part of PortXmitWait on VL 1',65535);
INSERT INTO "detail_counter" VALUES(66,2,2,'xmit_wait_vl2','ticks','the part of PortXmitWait on VL 2',65535);
INSERT INTO "detail_counter" VALUES(67,2,3,'xmit_wait_vl3','ticks','the part of PortXmitWait on VL 3',65535);
INSERT INTO "detail_counter" VALUES(68,2,4,'xmit_wait_vl4','ticks','the part of PortXmitWait on VL 4',65535);
INSERT INTO "detail_counter" VALUES(69,2,5,'xmit_wait_vl5','ticks','the part of PortXmitWait on VL 5',65535);
INSERT INTO "detail_counter" VALUES(70,2,6,'xmit_wait_vl6','ticks','the part of PortXmitWait on VL 6',65535);
INSERT INTO "detail_counter" VALUES(71,2,7,'xmit_wait_vl7','ticks','the part of PortXmitWait on VL 7',65535);
INSERT INTO "detail_counter" VALUES(72,2,8,'xmit_wait_vl8','ticks','the part of PortXmitWait on VL 8',65535);
INSERT INTO "detail_counter" VALUES(73,2,9,'xmit_wait_vl9','ticks','the part of PortXmitWait on VL 9',65535);
INSERT INTO "detail_counter" VALUES(74,2,10,'xmit_wait_vl10','ticks','the part of PortXmitWait on VL 10',65535);
INSERT INTO "detail_counter" VALUES(75,2,11,'xmit_wait_vl11','ticks','the part of PortXmitWait on VL 11',65535);
INSERT INTO "detail_counter" VALUES(76,2,12,'xmit_wait_vl12','ticks','the part of PortXmitWait on VL 12',65535);
INSERT INTO "detail_counter" VALUES(77,2,13,'xmit_wait_vl13','ticks','the part of PortXmitWait on VL 13',65535);
INSERT INTO "detail_counter" VALUES(78,2,14,'xmit_wait_vl14','ticks','the part of PortXmitWait on VL 14',65535);
INSERT INTO "detail_counter" VALUES(79,2,15,'xmit_wait_vl15','ticks','the part of PortXmitWait on VL 15',65535);
INSERT INTO "detail_counter" VALUES(96,3,0,'sync_header_errors','errors','blocks with an invalid header',65535);
INSERT INTO "detail_counter" VALUES(97,3,1,'unknown_blocks','blocks','blocks of an unknown type',65535);
INSERT INTO "detail_counter" VALUES(98,3,2,'fec_corrected_blocks','blocks','blocks corrected by FEC: harmless',4294967295);
INSERT INTO "detail_counter" VALUES(99,3,3,'fec_uncorrected_blocks','blocks','blocks that FEC could not correct: their data is lost',4294967295);
INSERT INTO "detail_counter" VALUES(100,3,4,'fec_corrected_symbols','symbols','symbols corrected by FEC',4294967295);
INSERT INTO "detail_counter" VALUES(101,3,5,'fec_corrected_lane0','corrections','corrected on lane 0: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(102,3,6,'fec_corrected_lane1','corrections','corrected on lane 1: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(103,3,7,'fec_corrected_lane2','corrections','corrected on lane 2: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(104,3,8,'fec_corrected_lane3','corrections','corrected on lane 3: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(105,3,9,'fec_corrected_lane4','corrections','corrected on lane 4: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(106,3,10,'fec_corrected_lane5','corrections','corrected on lane 5: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(107,3,11,'fec_corrected_lane6','corrections','corrected on lane 6: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(108,3,12,'fec_corrected_lane7','corrections','corrected on lane 7: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(109,3,13,'fec_corrected_lane8','corrections','corrected on lane 8: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(110,3,14,'fec_corrected_lane9','corrections','corrected on lane 9: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(111,3,15,'fec_corrected_lane10','corrections','corrected on lane 10: symbols with a Reed-Solomon code, else blocks',4294967295);
INSERT INTO "detail_counter" VALUES(112,3,16,'fec_corrected_lane11','corrections','corrected on lane 11: symbols with a Reed-Solomon code, else blocks',4294967295);
CREATE TABLE detail_last ( -- newest row of detail per port and attribute
	port INTEGER NOT NULL,
	attribute INTEGER NOT NULL,
	sweep INTEGER NOT NULL,
	CONSTRAINT detail_last_range CHECK (
		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),
	PRIMARY KEY (port, attribute)
) WITHOUT ROWID, STRICT;
INSERT INTO "detail_last" VALUES(1,0,19);
INSERT INTO "detail_last" VALUES(1,1,19);
INSERT INTO "detail_last" VALUES(1,2,19);
INSERT INTO "detail_last" VALUES(2,0,20);
INSERT INTO "detail_last" VALUES(2,1,20);
INSERT INTO "detail_last" VALUES(2,2,20);
INSERT INTO "detail_last" VALUES(3,1,2);
INSERT INTO "detail_last" VALUES(9,0,20);
CREATE TABLE detail_value ( -- nonzero counters of a row of detail; no row: value 0, counted 0
	sweep INTEGER NOT NULL,
	port INTEGER NOT NULL,
	counter INTEGER NOT NULL REFERENCES detail_counter (id),
	value INTEGER NOT NULL, -- absolute value
	counted INTEGER, -- increase since the previous reading; NULL: not known
	marks INTEGER NOT NULL, -- 1 reset, 2 saturated: counted is a lower bound
	CONSTRAINT detail_value_range CHECK (
		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND
		marks BETWEEN 0 AND 3),
	PRIMARY KEY (sweep, port, counter)
) WITHOUT ROWID, STRICT;
INSERT INTO "detail_value" VALUES(3,9,0,3,NULL,0);
INSERT INTO "detail_value" VALUES(4,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(5,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(6,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(7,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(8,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(9,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(10,9,0,3,0,0);
INSERT INTO "detail_value" VALUES(11,9,0,5,2,0);
INSERT INTO "detail_value" VALUES(12,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(13,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(14,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(15,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(16,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(17,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(18,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(19,9,0,5,0,0);
INSERT INTO "detail_value" VALUES(20,9,0,5,0,0);
CREATE TABLE error ( -- error counters that increased, and counters that were reset or are saturated
	sweep INTEGER NOT NULL,
	port INTEGER NOT NULL,
	counter INTEGER NOT NULL REFERENCES counter (id),
	value INTEGER NOT NULL, -- increase in the delta of this sweep and port
	marks INTEGER NOT NULL, -- 1 reset: value is a lower bound; 2 saturated: value is a lower bound
	CONSTRAINT error_range CHECK (
		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND
		marks BETWEEN 0 AND 3),
	PRIMARY KEY (sweep, port, counter)
) WITHOUT ROWID, STRICT;
INSERT INTO "error" VALUES(2,3,15,1,0);
INSERT INTO "error" VALUES(2,9,9,1,0);
INSERT INTO "error" VALUES(3,9,9,2,0);
INSERT INTO "error" VALUES(3,9,12,1,0);
INSERT INTO "error" VALUES(4,9,9,2,0);
INSERT INTO "error" VALUES(4,9,12,1,0);
INSERT INTO "error" VALUES(5,9,9,2,0);
INSERT INTO "error" VALUES(5,9,12,1,0);
INSERT INTO "error" VALUES(6,9,9,2,0);
INSERT INTO "error" VALUES(6,9,12,1,0);
INSERT INTO "error" VALUES(7,9,9,2,0);
INSERT INTO "error" VALUES(7,9,12,1,0);
INSERT INTO "error" VALUES(8,9,9,2,0);
INSERT INTO "error" VALUES(8,9,12,1,0);
INSERT INTO "error" VALUES(9,9,9,2,0);
INSERT INTO "error" VALUES(9,9,12,1,0);
INSERT INTO "error" VALUES(10,9,9,2,0);
INSERT INTO "error" VALUES(10,9,12,1,0);
INSERT INTO "error" VALUES(11,9,9,2,0);
INSERT INTO "error" VALUES(11,9,12,1,0);
INSERT INTO "error" VALUES(12,9,9,2,0);
INSERT INTO "error" VALUES(12,9,12,1,0);
INSERT INTO "error" VALUES(13,9,9,2,0);
INSERT INTO "error" VALUES(13,9,12,1,0);
INSERT INTO "error" VALUES(14,9,9,2,0);
INSERT INTO "error" VALUES(14,9,12,1,0);
INSERT INTO "error" VALUES(15,9,9,2,0);
INSERT INTO "error" VALUES(15,9,12,1,0);
INSERT INTO "error" VALUES(16,9,9,2,0);
INSERT INTO "error" VALUES(16,9,12,1,0);
INSERT INTO "error" VALUES(17,9,9,2,0);
INSERT INTO "error" VALUES(17,9,12,1,0);
INSERT INTO "error" VALUES(18,9,9,2,0);
INSERT INTO "error" VALUES(18,9,12,1,0);
INSERT INTO "error" VALUES(19,9,9,2,0);
INSERT INTO "error" VALUES(19,9,12,1,0);
INSERT INTO "error" VALUES(20,9,9,2,0);
INSERT INTO "error" VALUES(20,9,12,1,0);
CREATE TABLE event ( -- events
	id INTEGER PRIMARY KEY, -- in order of occurrence
	sweep INTEGER NOT NULL, -- stored with this sweep
	wall_us INTEGER NOT NULL, -- us since 1970 UTC
	kind TEXT NOT NULL,
	severity INTEGER NOT NULL, -- code severity
	node_guid INTEGER, -- NULL: none
	port INTEGER, -- its number
	peer_guid INTEGER,
	peer_port INTEGER,
	text TEXT NOT NULL,
	CONSTRAINT event_range CHECK (
		id > 0 AND wall_us BETWEEN 0 AND 253402300799999999 AND severity BETWEEN 0 AND 2)
) STRICT;
INSERT INTO "event" VALUES(1,1,1795467597997577,'collector-started',0,NULL,NULL,NULL,NULL,'collector started');
INSERT INTO "event" VALUES(2,2,1795467599026312,'routes-changed',0,-5129892432783081344,0,NULL,NULL,'LFT of spine-01 changed: 3 entries');
INSERT INTO "event" VALUES(3,2,1795467599026312,'finding-opened',0,-5129892432783081344,0,NULL,NULL,'routes-changed spine-01: 3 entries of the forwarding table of spine-01 changed');
INSERT INTO "event" VALUES(4,7,1795467603029090,'link-down',1,-5129892432783081344,1,NULL,NULL,'spine-01/1 - leaf-u01-r0/3: Active -> Down');
INSERT INTO "event" VALUES(5,7,1795467604023995,'finding-opened',2,-5129892432783081408,3,-5129892432783081344,1,'link-down leaf-u01-r0/3 - spine-01/1: down for 1 s; 50 % of the uplinks of leaf-u01-r0 are down (critical from 25 %)');
INSERT INTO "event" VALUES(6,12,1795467608057492,'link-up',0,-5129892432783081344,1,-5129892432783081408,3,'spine-01/1 - leaf-u01-r0/3: Down -> Active');
INSERT INTO "event" VALUES(7,12,1795467609029055,'sm-other',0,883445511175016448,1,-5129892432783081408,5,'the subnet manager at mgmt0001 mlx5_0/1 no longer responds');
INSERT INTO "event" VALUES(8,12,1795467609029055,'sm-lost',1,NULL,NULL,NULL,NULL,'the subnet manager at LID 1 does not respond');
INSERT INTO "event" VALUES(9,13,1795467610023976,'sm-answers',0,NULL,NULL,NULL,NULL,'the subnet manager at LID 1 responds again');
INSERT INTO "event" VALUES(10,15,1795467612023999,'finding-closed',0,-5129892432783081408,3,-5129892432783081344,1,'link-down leaf-u01-r0/3 - spine-01/1: was down for 5 s; 50 % of the uplinks of leaf-u01-r0 were down (critical from 25 %)');
CREATE TABLE finding ( -- findings, with their duration (ibwire health)
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL, -- see ibwire-health(1)
	node_guid INTEGER, -- printf('0x%016x', node_guid); NULL: the whole fabric
	port INTEGER NOT NULL, -- port number; 0: the node itself
	peer_guid INTEGER, -- other end of the link; NULL: none
	peer_port INTEGER NOT NULL,
	tag INTEGER NOT NULL, -- distinguishes findings of one kind and place: the direction of a group
	since_us INTEGER NOT NULL, -- known or estimated beginning
	opened_us INTEGER NOT NULL, -- wall clock of the sweep that opened it
	opened_sweep INTEGER NOT NULL, -- sweep.id
	last_seen_us INTEGER NOT NULL, -- wall clock of its last sweep; while open, at most a minute old
	closed_us INTEGER, -- wall clock of the sweep that closed it; NULL: open
	closed_sweep INTEGER, -- sweep.id
	CONSTRAINT finding_range CHECK (
		id > 0 AND port BETWEEN 0 AND 255 AND since_us BETWEEN 0 AND 253402300799999999 AND
		opened_us BETWEEN 0 AND 253402300799999999 AND
		last_seen_us BETWEEN 0 AND 253402300799999999 AND
		closed_us BETWEEN 0 AND 253402300799999999)
) STRICT;
INSERT INTO "finding" VALUES(1,'routes-changed',-5129892432783081344,0,NULL,0,0,1795467599026312,1795467599026312,2,1795467599026312,NULL,NULL);
INSERT INTO "finding" VALUES(2,'link-down',-5129892432783081408,3,-5129892432783081344,1,0,1795467604023995,1795467604023995,7,1795467608023974,1795467612023999,15);
CREATE TABLE finding_state ( -- state of a finding from a sweep on
	finding INTEGER NOT NULL REFERENCES finding (id),
	from_sweep INTEGER NOT NULL, -- sweep.id
	wall_us INTEGER NOT NULL, -- wall clock of that sweep
	severity INTEGER NOT NULL, -- code severity
	subject TEXT NOT NULL, -- object of the finding, as shown
	cause TEXT NOT NULL, -- cause code
	text TEXT NOT NULL, -- one line: measured value and threshold
	advice TEXT NOT NULL, -- one line: recommended action
	evidence TEXT NOT NULL, -- JSON object of numbers; each key ends with its unit
	hosts TEXT NOT NULL, -- JSON array of names: the first affected hosts
	affected_hosts INTEGER NOT NULL, -- number of affected hosts
	ports TEXT NOT NULL, -- JSON array of port.id: the first ports of a finding about several
	CONSTRAINT finding_state_range CHECK (from_sweep BETWEEN 1 AND 1099511627776 AND
		wall_us BETWEEN 0 AND 253402300799999999 AND severity BETWEEN 0 AND 2),
	PRIMARY KEY (finding, from_sweep)
) WITHOUT ROWID, STRICT;
INSERT INTO "finding_state" VALUES(1,2,1795467599026312,0,'spine-01','subnet-manager','3 entries of the forwarding table of spine-01 changed','if no change was planned, check the log of the subnet manager','{"entries":3}','["node0001","node0002","mgmt0001","mgmt0002"]',4,'[]');
INSERT INTO "finding_state" VALUES(2,7,1795467604023995,2,'leaf-u01-r0/3 - spine-01/1','cable','down for 1 s; 50 % of the uplinks of leaf-u01-r0 are down (critical from 25 %)','check the port LEDs at both ends, reseat the cable, then replace it; check that the port is not disabled','{"down_s":1.000044,"uplinks_down_percent":50}','["node0001","node0002","mgmt0001","mgmt0002"]',4,'[]');
INSERT INTO "finding_state" VALUES(2,8,1795467609029055,2,'leaf-u01-r0/3 - spine-01/1','cable','was down for 5 s; 50 % of the uplinks of leaf-u01-r0 were down (critical from 25 %)','check the port LEDs at both ends, reseat the cable, then replace it; check that the port is not disabled','{"down_s":5.000023,"uplinks_down_percent":50,"ok_since_us":1795467609029055}','["node0001","node0002","mgmt0001","mgmt0002"]',4,'[]');
CREATE TABLE hot ( -- samples of the newest sweeps, one row per 32 ports; unpacked by view traffic
	id INTEGER PRIMARY KEY, -- sweep * 65536 + port / 32
	samples BLOB NOT NULL, -- packed, of ports 32 * (port / 32) and up
	CONSTRAINT hot_range CHECK (id / 65536 BETWEEN 1 AND 1099511627776)
) STRICT;
INSERT INTO "hot" VALUES(983040,X'01DE7F0100191101110000001000000000009A781E0000000000D8D803030505090000000000001000000000000200000000000000090201100000001000000000008D11000000000000880209112910000100000010000000000041240000000000008802091149340311000000100000000000CE3500000000000094E61F0F94E61F0F58C20358C203030349340311000000100000000000010000000000000094E61F0F94E61F0F58C20358C203030309000000000000100000000000020000000000000049340311000000100000000000951100000000000094E61F0F94E61F0F58C20358C203030349340311000000100000000000252600000000000094E61F0F94E61F0F58C20358C20303032910000100000010000000000011030000000000004002080F0902011000000010000000000027570000000000004002080F19110111000000100000000000F101000000000000D8D80303050529120111000000100000000000E93A000000000000B808B8081F1F3D3D29120111000000100000000000D0CE0000000000004809480921214141');
INSERT INTO "hot" VALUES(1048576,X'01DE7F010019110111000000100000000000FE851E0000000000D8D803030505090000000000001000000000000100000000000000090201100000001000000000002E00000000000000F801070D291000010000001000000000000400000000000000F801070D49340311000000100000000000130000000000000034DF450F34DF450FC8CB03C8CB03030349340311000000100000000000020000000000000034DF450F34DF450FC8CB03C8CB03030309000000000000100000000000010000000000000049340311000000100000000000000000000000000034DF450F34DF450FC8CB03C8CB03030349340311000000100000000000320100000000000034DF450F34DF450FC8CB03C8CB030303291000010000001000000000001300000000000000F801070D090201100000001000000000002C00000000000000F801070D191101110000001000000000004B00000000000000D8D803030505291201110000001000000000001B00000000000000700870081E1E3B3B291201110000001000000000009900000000000000700870081E1E3B3B');
INSERT INTO "hot" VALUES(1114112,X'01DE7F010019110111000000100000000000A45D1F000000000090D80203030509000000000000100000000000040000000000000009020110000000100000000000EA22000000000000F801070D291000010000001000000000003800000000000000F801070D49340311000000100000000000532300000000000076E1290F76E1290FD3C403D3C403030349340311000000100000000000000000000000000076E1290F76E1290FD3C403D3C403030309000000000000100000000000000000000000000049340311000000100000000000F82200000000000076E1290F76E1290FD3C403D3C403030349340311000000100000000000050100000000000076E1290F76E1290FD3C403D3C4030303291000010000001000000000005000000000000000F801070D090201100000001000000000001A16000000000000F801070D191101110000001000000000002201000000000000D8D80303050529120111000000100000000000AA040000000000000009000920203F3F291201110000001000000000006F3E0000000000000009000920203F3F');
INSERT INTO "hot" VALUES(1179648,X'01DE7F0100191101110000001000000000007EA91D0000000000D8D80303050509000000000000100000000000030000000000000009020110000000100000000000DF22000000000000F801070D291000010000001000000000001900000000000000F801070D49340311000000100000000000F822000000000000EE327F0EEE327F0E679A03679A030303493403110000001000000000000100000000000000EE327F0EEE327F0E679A03679A03030309000000000000100000000000600000000000000049340311000000100000000000F722000000000000EE327F0EEE327F0E679A03679A030303493403110000001000000000003900000000000000EE327F0EEE327F0E679A03679A030303291000010000001000000000001F00000000000000F801070D090201100000001000000000005916000000000000F801070D19110111000000100000000000E500000000000000D89003020503291201110000001000000000009904000000000000B80800091F203D3F291201110000001000000000006A3F0000000000000009B808201F3F3D');
INSERT INTO "hot" VALUES(1245184,X'01DE7F010019110111000000100000000000D4891E0000000000D8D803030505090000000000001000000000000400000000000000090201100000001000000000009C00000000000000F801070D291000010000001000000000008600000000000000F801070D493403110000001000000000002301000000000000801E150F801E150FAABF03AABF030303493403110000001000000000000200000000000000801E150F801E150FAABF03AABF030303090000000000001000000000003E0000000000000049340311000000100000000000BE00000000000000801E150F801E150FAABF03AABF030303493403110000001000000000009C00000000000000801E150F801E150FAABF03AABF03030329100001000000100000000000BC00000000000000F801070D090201100000001000000000009400000000000000F801070D2912011100000010000000000040000000000000004002880208090F11291201110000001000000000005200000000000000F80AB00A27264D4B291201110000001000000000003D030000000000004809900921224143');
INSERT INTO "hot" VALUES(1310720,X'01DE7F0100291201110000001000000000008E851E00000000004002400208080F0F090000000000001000000000004600000000000000090201100000001000000000008500000000000000F801070D291000010000001000000000005F00000000000000F801070D49340311000000100000000000E600000000000000BEAA8D0DBEAA8D0D5F5E035F5E030303493403110000001000000000000000000000000000BEAA8D0DBEAA8D0D5F5E035F5E030303090000000000001000000000009D00000000000000493403110000001000000000003F00000000000000BEAA8D0DBEAA8D0D5F5E035F5E03030349340311000000100000000000A300000000000000BEAA8D0DBEAA8D0D5F5E035F5E030303291000010000001000000000003F000000000000004002080F090201100000001000000000001F00000000000000D0020A13191101110000001000000000002300000000000000D8D803030505291201110000001000000000005D00000000000000D809D80923234545291201110000001000000000008A01000000000000200AD80924234745');
CREATE TABLE hour ( -- a run of windows of about one hour, with common sums
	id INTEGER PRIMARY KEY, -- in order of sweeps
	from_sweep INTEGER NOT NULL, -- as in chunk_window
	to_sweep INTEGER NOT NULL,
	from_us INTEGER NOT NULL,
	to_us INTEGER NOT NULL,
	from_window INTEGER NOT NULL, -- the first
	to_window INTEGER NOT NULL, -- the first after it
	state INTEGER NOT NULL, -- 0 being written; 1 complete
	next_port INTEGER NOT NULL, -- while being written: first port without its sum
	CONSTRAINT hour_range CHECK (
		id BETWEEN 1 AND 1099511627776 AND from_sweep BETWEEN 1 AND 1099511627776 AND
		to_sweep > from_sweep AND to_sweep BETWEEN 1 AND 1099511627776 AND
		from_us BETWEEN 0 AND 253402300799999999 AND
		to_us BETWEEN 0 AND 253402300799999999 AND from_window BETWEEN 1 AND 1099511627776 AND
		to_window > from_window AND to_window BETWEEN 1 AND 1099511627776 AND
		state BETWEEN 0 AND 1 AND next_port BETWEEN 0 AND 2097664)
) STRICT;
INSERT INTO "hour" VALUES(1,1,6,1795467598023872,1795467602023992,1,2,1,512);
CREATE TABLE hour_error ( -- the same in one hour
	hour INTEGER NOT NULL, -- hour.id
	port INTEGER NOT NULL,
	counter INTEGER NOT NULL REFERENCES counter (id),
	value INTEGER NOT NULL,
	CONSTRAINT hour_error_range CHECK (
		hour BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),
	PRIMARY KEY (hour, port, counter)
) WITHOUT ROWID, STRICT;
INSERT INTO "hour_error" VALUES(1,3,15,1);
INSERT INTO "hour_error" VALUES(1,9,9,7);
INSERT INTO "hour_error" VALUES(1,9,12,3);
CREATE TABLE hour_sum ( -- the same in one hour
	hour INTEGER NOT NULL, -- hour.id
	port INTEGER NOT NULL,
	samples INTEGER NOT NULL, -- number of sweeps with a delta
	elapsed_us INTEGER NOT NULL, -- sum of their times
	unknown INTEGER NOT NULL, -- set of counters not known in every delta: 1 << counter.id
	reset INTEGER NOT NULL, -- set of counters that were reset: the sum is a lower bound
	saturated INTEGER NOT NULL, -- set of counters that were saturated: the sum is a lower bound
	xmit_data INTEGER, -- PortXmitData, words; NULL: not known
	rcv_data INTEGER, -- PortRcvData, words; NULL: not known
	xmit_packets INTEGER, -- PortXmitPkts, packets; NULL: not known
	rcv_packets INTEGER, -- PortRcvPkts, packets; NULL: not known
	xmit_wait INTEGER, -- PortXmitWait, ticks; NULL: not known
	unicast_xmit_packets INTEGER, -- PortUnicastXmitPkts, packets; NULL: not known
	unicast_rcv_packets INTEGER, -- PortUnicastRcvPkts, packets; NULL: not known
	multicast_xmit_packets INTEGER, -- PortMulticastXmitPkts, packets; NULL: not known
	multicast_rcv_packets INTEGER, -- PortMulticastRcvPkts, packets; NULL: not known
	CONSTRAINT hour_sum_range CHECK (
		hour BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND samples > 0 AND
		elapsed_us >= 0),
	PRIMARY KEY (hour, port)
) WITHOUT ROWID, STRICT;
INSERT INTO "hour_sum" VALUES(1,1,4,3993361,1048576,0,0,6480,6552,90,91,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,2,4,3993269,1048576,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,3,4,3992852,1048576,0,0,0,216,0,3,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,4,4,3992811,1048576,0,0,3600,3528,50,49,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,6,4,3993364,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "hour_sum" VALUES(1,7,4,3993304,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "hour_sum" VALUES(1,8,4,3993290,1048576,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,9,4,3992889,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "hour_sum" VALUES(1,10,4,3992875,1048576,0,0,987778434,987778434,959024,959024,0,959007,959007,0,0);
INSERT INTO "hour_sum" VALUES(1,11,4,3992849,1048576,0,0,72,0,1,0,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,12,4,3992777,1048576,0,0,3600,3672,50,51,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,13,4,3992710,1048576,0,0,6552,6480,91,90,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,14,4,3988214,1048576,0,0,9864,9864,137,137,0,0,0,0,0);
INSERT INTO "hour_sum" VALUES(1,16,4,3993340,1048576,0,0,9936,9936,138,138,0,0,0,0,0);
CREATE TABLE meta ( -- properties of the database
	key TEXT PRIMARY KEY, -- created_us: wall clock
	value ANY
) WITHOUT ROWID, STRICT;
INSERT INTO "meta" VALUES('created_us',1795467597975009);
CREATE TABLE node ( -- identity of a node; rows are never removed, ids never reused
	id INTEGER PRIMARY KEY,
	guid INTEGER NOT NULL UNIQUE, -- printf('0x%016x', guid)
	CONSTRAINT node_range CHECK (id BETWEEN 1 AND 2097151)
) STRICT;
INSERT INTO "node" VALUES(1,883445511175016448);
INSERT INTO "node" VALUES(2,-5129892432783081344);
INSERT INTO "node" VALUES(3,883445511175028736);
INSERT INTO "node" VALUES(4,883445511175024640);
INSERT INTO "node" VALUES(5,-5129892432783081408);
INSERT INTO "node" VALUES(6,883445511175020544);
CREATE TABLE node_version ( -- properties of a node, and when they were valid
	from_sweep INTEGER NOT NULL,
	node INTEGER NOT NULL REFERENCES node (id),
	to_sweep INTEGER,
	name TEXT NOT NULL, -- sanitised text, as shown
	description BLOB NOT NULL, -- NodeDescription as received, without trailing NULs
	type INTEGER NOT NULL, -- code node_type
	port_count INTEGER NOT NULL, -- external ports
	system_guid INTEGER NOT NULL,
	vendor_id INTEGER NOT NULL,
	device_id INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	lid INTEGER NOT NULL, -- of a switch; otherwise 0, see port_version
	lft_top INTEGER NOT NULL,
	enhanced_port0 INTEGER NOT NULL, -- 1: its port 0 has counters
	adaptive_routing INTEGER, -- of a switch: 1 on, 0 off; NULL: not queried
	CONSTRAINT node_version_range CHECK (
		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND
		node BETWEEN 1 AND 2097151 AND port_count BETWEEN 0 AND 255),
	PRIMARY KEY (from_sweep, node)
) WITHOUT ROWID, STRICT;
INSERT INTO "node_version" VALUES(1,1,NULL,'mgmt0001 mlx5_0',X'6D676D7430303031206D6C78355F30',1,1,883445511175016448,713,4123,161,0,0,0,NULL);
INSERT INTO "node_version" VALUES(1,2,NULL,'MF0;spine-01:MQM8700/U1',X'4D46303B7370696E652D30313A4D514D383730302F5531',2,3,-5129892432783081344,713,54000,161,6,6,1,NULL);
INSERT INTO "node_version" VALUES(1,3,NULL,'node0002 mlx5_0',X'6E6F646530303032206D6C78355F30',1,1,883445511175028736,713,4123,161,0,0,0,NULL);
INSERT INTO "node_version" VALUES(1,4,NULL,'node0001 mlx5_0',X'6E6F646530303031206D6C78355F30',1,1,883445511175024640,713,4123,161,0,0,0,NULL);
INSERT INTO "node_version" VALUES(1,5,NULL,'MF0;leaf-u01-r0:MQM8700/U1',X'4D46303B6C6561662D7530312D72303A4D514D383730302F5531',2,7,-5129892432783081408,713,54000,161,5,6,1,NULL);
INSERT INTO "node_version" VALUES(1,6,NULL,'mgmt0002 mlx5_0',X'6D676D7430303032206D6C78355F30',1,1,883445511175020544,713,4123,161,0,0,0,NULL);
CREATE TABLE port ( -- identity of a port; as node
	id INTEGER PRIMARY KEY,
	node INTEGER NOT NULL REFERENCES node (id),
	number INTEGER NOT NULL,
	CONSTRAINT port_range CHECK (id BETWEEN 1 AND 2097151 AND node BETWEEN 1 AND 2097151 AND
		number BETWEEN 0 AND 255),
	UNIQUE (node, number)
) STRICT;
INSERT INTO "port" VALUES(1,1,1);
INSERT INTO "port" VALUES(2,2,0);
INSERT INTO "port" VALUES(3,2,1);
INSERT INTO "port" VALUES(4,2,2);
INSERT INTO "port" VALUES(5,2,3);
INSERT INTO "port" VALUES(6,3,1);
INSERT INTO "port" VALUES(7,4,1);
INSERT INTO "port" VALUES(8,5,0);
INSERT INTO "port" VALUES(9,5,1);
INSERT INTO "port" VALUES(10,5,2);
INSERT INTO "port" VALUES(11,5,3);
INSERT INTO "port" VALUES(12,5,4);
INSERT INTO "port" VALUES(13,5,5);
INSERT INTO "port" VALUES(14,5,6);
INSERT INTO "port" VALUES(15,5,7);
INSERT INTO "port" VALUES(16,6,1);
CREATE TABLE port_version ( -- properties of a port, and when they were valid
	from_sweep INTEGER NOT NULL,
	port INTEGER NOT NULL REFERENCES port (id),
	to_sweep INTEGER,
	peer INTEGER REFERENCES port (id), -- the port at the other end of its cable
	state INTEGER NOT NULL, -- code state
	phys_state INTEGER NOT NULL, -- code phys_state
	width INTEGER NOT NULL, -- code width; 0 while down
	speed INTEGER NOT NULL, -- code speed; 0 while down
	width_enabled INTEGER NOT NULL, -- set of codes
	width_supported INTEGER NOT NULL, -- set of codes
	speed_enabled INTEGER NOT NULL, -- set of 1 << code
	speed_supported INTEGER NOT NULL, -- set of 1 << code
	guid INTEGER NOT NULL, -- PortGUID; 0 for a switch's external ports
	lid INTEGER NOT NULL,
	lmc INTEGER NOT NULL,
	sm_lid INTEGER NOT NULL,
	cap_mask INTEGER NOT NULL, -- PortInfo.CapabilityMask
	CONSTRAINT port_version_range CHECK (
		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND
		port BETWEEN 1 AND 2097151 AND peer BETWEEN 1 AND 2097151),
	PRIMARY KEY (from_sweep, port)
) WITHOUT ROWID, STRICT;
INSERT INTO "port_version" VALUES(1,1,NULL,13,4,5,2,7,3,19,238,238,883445511175016449,1,0,1,5292106);
INSERT INTO "port_version" VALUES(1,2,NULL,NULL,4,5,2,1,2,19,2,14,-5129892432783081344,6,0,1,49224);
INSERT INTO "port_version" VALUES(1,3,7,11,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,4,NULL,12,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,5,NULL,NULL,1,2,0,0,2,19,2,14,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,6,NULL,10,4,5,2,7,3,19,238,238,883445511175028737,4,0,1,5292104);
INSERT INTO "port_version" VALUES(1,7,NULL,9,4,5,2,7,3,19,238,238,883445511175024641,3,0,1,5292104);
INSERT INTO "port_version" VALUES(1,8,NULL,NULL,4,5,2,1,2,19,2,14,-5129892432783081408,5,0,1,49224);
INSERT INTO "port_version" VALUES(1,9,NULL,7,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,10,NULL,6,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,11,7,3,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,12,NULL,4,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,13,NULL,1,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,14,NULL,16,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,15,NULL,NULL,1,2,0,0,2,19,2,14,0,0,0,0,0);
INSERT INTO "port_version" VALUES(1,16,NULL,14,4,5,2,7,3,19,238,238,883445511175020545,2,0,1,5292104);
INSERT INTO "port_version" VALUES(7,3,12,NULL,1,2,0,0,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(7,11,12,NULL,1,2,0,0,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(12,3,NULL,11,4,5,2,7,3,19,238,238,0,0,0,0,0);
INSERT INTO "port_version" VALUES(12,11,NULL,3,4,5,2,7,3,19,238,238,0,0,0,0,0);
CREATE TABLE route_version ( -- 64 entries of a switch's LFT, and when they were valid
	from_sweep INTEGER NOT NULL,
	node INTEGER NOT NULL REFERENCES node (id),
	block INTEGER NOT NULL, -- LIDs 64 * block to 64 * block + 63
	to_sweep INTEGER,
	ports BLOB NOT NULL, -- one byte per LID: its egress port; 255: none
	CONSTRAINT route_version_range CHECK (
		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND
		node BETWEEN 1 AND 2097151 AND block BETWEEN 0 AND 767 AND length(ports) = 64),
	PRIMARY KEY (from_sweep, node, block)
) WITHOUT ROWID, STRICT;
INSERT INTO "route_version" VALUES(1,2,0,2,X'FF010201020100FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF');
INSERT INTO "route_version" VALUES(1,5,0,NULL,X'FF050601020003FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF');
INSERT INTO "route_version" VALUES(2,2,0,NULL,X'FF020202020200FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF');
CREATE TABLE snapshot ( -- all counters of all ports at one time (ibwire snapshot take)
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL, -- unique among complete snapshots
	note TEXT, -- NULL: none
	complete INTEGER NOT NULL, -- 1: complete; 0: being written or removed
	wall_us INTEGER NOT NULL, -- wall clock at the start of its sweep, us since 1970 UTC
	start_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us
	end_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us
	boot_id TEXT NOT NULL, -- origin of start_us, end_us and at_us
	sweep INTEGER, -- newest stored sweep at that time; NULL: none
	discovered INTEGER NOT NULL, -- 1: topology of its own discovery, 0: the collector's newest
	slow INTEGER NOT NULL, -- 1: with slow counters
	ports_planned INTEGER NOT NULL, -- ports with counters, up or not
	ports_polled INTEGER NOT NULL,
	ports_answered INTEGER NOT NULL,
	mads_sent INTEGER NOT NULL,
	mads_timed_out INTEGER NOT NULL,
	spread_us INTEGER NOT NULL, -- time between the first and the last reading of fast counters
	CONSTRAINT snapshot_range CHECK (id > 0 AND wall_us BETWEEN 0 AND 253402300799999999)
) STRICT;
INSERT INTO "snapshot" VALUES(1,'first','of version 1',1,1795467617147103,70020426188,70020429695,'00000000-0000-0000-0000-000000000001',20,1,0,16,14,14,42,0,1846);
CREATE TABLE snapshot_node ( -- a node at that time
	snapshot INTEGER NOT NULL REFERENCES snapshot (id),
	node INTEGER NOT NULL, -- number within the snapshot, from 0
	guid INTEGER NOT NULL, -- printf('0x%016x', guid)
	name TEXT NOT NULL, -- sanitised text, as shown
	description BLOB NOT NULL, -- NodeDescription as received, without trailing NULs
	type INTEGER NOT NULL, -- code node_type
	port_count INTEGER NOT NULL, -- external ports
	system_guid INTEGER NOT NULL,
	vendor_id INTEGER NOT NULL,
	device_id INTEGER NOT NULL,
	CONSTRAINT snapshot_node_range CHECK (
		node BETWEEN 0 AND 2097151 AND port_count BETWEEN 0 AND 255),
	PRIMARY KEY (snapshot, node)
) WITHOUT ROWID, STRICT;
INSERT INTO "snapshot_node" VALUES(1,0,883445511175016448,'mgmt0001 mlx5_0',X'6D676D7430303031206D6C78355F30',1,1,883445511175016448,713,4123);
INSERT INTO "snapshot_node" VALUES(1,1,-5129892432783081344,'MF0;spine-01:MQM8700/U1',X'4D46303B7370696E652D30313A4D514D383730302F5531',2,3,-5129892432783081344,713,54000);
INSERT INTO "snapshot_node" VALUES(1,2,883445511175028736,'node0002 mlx5_0',X'6E6F646530303032206D6C78355F30',1,1,883445511175028736,713,4123);
INSERT INTO "snapshot_node" VALUES(1,3,883445511175024640,'node0001 mlx5_0',X'6E6F646530303031206D6C78355F30',1,1,883445511175024640,713,4123);
INSERT INTO "snapshot_node" VALUES(1,4,-5129892432783081408,'MF0;leaf-u01-r0:MQM8700/U1',X'4D46303B6C6561662D7530312D72303A4D514D383730302F5531',2,7,-5129892432783081408,713,54000);
INSERT INTO "snapshot_node" VALUES(1,5,883445511175020544,'mgmt0002 mlx5_0',X'6D676D7430303032206D6C78355F30',1,1,883445511175020544,713,4123);
CREATE TABLE snapshot_port ( -- a port with counters, up or not, and their values
	snapshot INTEGER NOT NULL REFERENCES snapshot (id),
	node INTEGER NOT NULL, -- snapshot_node.node
	number INTEGER NOT NULL,
	peer_node INTEGER, -- the port at the other end of its cable: snapshot_node.node; NULL: none
	peer_number INTEGER,
	state INTEGER NOT NULL, -- code state
	phys_state INTEGER NOT NULL, -- code phys_state
	width INTEGER NOT NULL, -- code width, active; 0: no link
	speed INTEGER NOT NULL, -- code speed, active; 0: no link
	lid INTEGER NOT NULL, -- at which it was polled; 0: none
	why INTEGER NOT NULL, -- 0: read; otherwise code why, and the counters are NULL
	at_us INTEGER, -- CLOCK_BOOTTIME of the response, us
	slow_at_us INTEGER, -- the same of the last response with slow counters
	wide INTEGER NOT NULL, -- set of counters read with 64 bits: 1 << counter.id
	saturated INTEGER NOT NULL, -- set of saturated counters (lower bounds): 1 << counter.id
	fec_layout INTEGER NOT NULL, -- code layout, of the FEC counters; 0: unknown or none
	-- Values of 64 bits: above 2^63 - 1 they look negative.
	xmit_data INTEGER, -- PortXmitData, words; NULL: not known
	rcv_data INTEGER, -- PortRcvData, words; NULL: not known
	xmit_packets INTEGER, -- PortXmitPkts, packets; NULL: not known
	rcv_packets INTEGER, -- PortRcvPkts, packets; NULL: not known
	xmit_wait INTEGER, -- PortXmitWait, ticks; NULL: not known
	unicast_xmit_packets INTEGER, -- PortUnicastXmitPkts, packets; NULL: not known
	unicast_rcv_packets INTEGER, -- PortUnicastRcvPkts, packets; NULL: not known
	multicast_xmit_packets INTEGER, -- PortMulticastXmitPkts, packets; NULL: not known
	multicast_rcv_packets INTEGER, -- PortMulticastRcvPkts, packets; NULL: not known
	symbol_errors INTEGER, -- SymbolErrorCounter, errors; NULL: not known
	link_error_recovery INTEGER, -- LinkErrorRecoveryCounter, recoveries; NULL: not known
	link_downed INTEGER, -- LinkDownedCounter, downs; NULL: not known
	rcv_errors INTEGER, -- PortRcvErrors, packets; NULL: not known
	rcv_remote_physical_errors INTEGER, -- PortRcvRemotePhysicalErrors, packets; NULL: not known
	rcv_switch_relay_errors INTEGER, -- PortRcvSwitchRelayErrors, packets; NULL: not known
	xmit_discards INTEGER, -- PortXmitDiscards, packets; NULL: not known
	xmit_constraint_errors INTEGER, -- PortXmitConstraintErrors, packets; NULL: not known
	rcv_constraint_errors INTEGER, -- PortRcvConstraintErrors, packets; NULL: not known
	local_link_integrity_errors INTEGER, -- LocalLinkIntegrityErrors, errors; NULL: not known
	excessive_buffer_overrun_errors INTEGER, -- ExcessiveBufferOverrunErrors, errors; NULL: not known
	qp1_dropped INTEGER, -- QP1Dropped, packets; NULL: not known
	vl15_dropped INTEGER, -- VL15Dropped, packets; NULL: not known
	local_physical_errors INTEGER, -- packets; NULL: not known
	malformed_packet_errors INTEGER, -- packets; NULL: not known
	buffer_overrun_errors INTEGER, -- packets; NULL: not known
	dlid_mapping_errors INTEGER, -- packets; NULL: not known
	vl_mapping_errors INTEGER, -- packets; NULL: not known
	looping_errors INTEGER, -- packets; NULL: not known
	inactive_discards INTEGER, -- packets; NULL: not known
	neighbor_mtu_discards INTEGER, -- packets; NULL: not known
	switch_lifetime_discards INTEGER, -- packets; NULL: not known
	switch_hoq_discards INTEGER, -- packets; NULL: not known
	xmit_wait_vl0 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl1 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl2 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl3 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl4 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl5 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl6 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl7 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl8 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl9 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl10 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl11 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl12 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl13 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl14 INTEGER, -- ticks; NULL: not known
	xmit_wait_vl15 INTEGER, -- ticks; NULL: not known
	sync_header_errors INTEGER, -- errors; NULL: not known
	unknown_blocks INTEGER, -- blocks; NULL: not known
	fec_corrected_blocks INTEGER, -- blocks; NULL: not known
	fec_uncorrected_blocks INTEGER, -- blocks; NULL: not known
	fec_corrected_symbols INTEGER, -- symbols; NULL: not known
	fec_corrected_lane0 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane1 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane2 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane3 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane4 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane5 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane6 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane7 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane8 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane9 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane10 INTEGER, -- corrections; NULL: not known
	fec_corrected_lane11 INTEGER, -- corrections; NULL: not known
	CONSTRAINT snapshot_port_range CHECK (
		node BETWEEN 0 AND 2097151 AND number BETWEEN 0 AND 255),
	PRIMARY KEY (snapshot, node, number)
) WITHOUT ROWID, STRICT;
INSERT INTO "snapshot_port" VALUES(1,0,1,4,5,4,5,2,7,1,0,70020427719,NULL,495,0,0,36864,37152,512,516,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,1,0,NULL,NULL,4,5,2,1,6,0,70020427763,NULL,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,1,1,4,3,4,5,2,7,6,0,70020429031,NULL,495,0,0,7200,14256,100,198,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,1,2,4,4,4,5,2,7,6,0,70020429140,NULL,495,0,0,14544,7344,202,102,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,1,3,NULL,NULL,1,2,0,0,6,3,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,2,1,4,2,4,5,2,7,4,0,70020427722,NULL,495,0,0,4903855020,4903855092,4761108,4761109,0,4761018,4761018,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,3,1,4,1,4,5,2,7,3,0,70020427722,NULL,495,0,0,4903854948,4903855020,4761107,4761108,0,4761018,4761018,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,0,NULL,NULL,4,5,2,1,5,0,70020427774,NULL,495,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,1,3,1,4,5,2,7,5,0,70020429024,NULL,495,0,0,4903855092,4903855092,4761109,4761109,0,4761018,4761018,0,0,37,0,0,18,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,2,2,1,4,5,2,7,5,0,70020429136,NULL,495,0,0,4903855092,4903855092,4761109,4761109,0,4761018,4761018,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,3,1,1,4,5,2,7,5,0,70020429230,NULL,495,0,0,14400,7200,200,100,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,4,1,2,4,5,2,7,5,0,70020429334,NULL,495,0,0,7344,14616,102,203,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,5,0,1,4,5,2,7,5,0,70020429449,NULL,495,0,0,37152,36936,516,513,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,6,5,1,4,5,2,7,5,0,70020429565,NULL,495,0,0,57816,57888,803,804,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,4,7,NULL,NULL,1,2,0,0,5,3,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "snapshot_port" VALUES(1,5,1,4,6,4,5,2,7,2,0,70020427763,NULL,495,0,0,56592,56592,786,786,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE span ( -- sweeps without a reading of a port; without a span, the port was read
	from_sweep INTEGER NOT NULL,
	port INTEGER NOT NULL REFERENCES port (id),
	to_sweep INTEGER,
	why INTEGER NOT NULL, -- code why
	read_sweep INTEGER, -- last sweep before that read the port; its absolute values are stored
	CONSTRAINT span_range CHECK (
		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND
		read_sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),
	PRIMARY KEY (from_sweep, port)
) WITHOUT ROWID, STRICT;
INSERT INTO "span" VALUES(1,5,NULL,3,NULL);
INSERT INTO "span" VALUES(1,15,NULL,3,NULL);
INSERT INTO "span" VALUES(7,3,12,3,6);
INSERT INTO "span" VALUES(7,11,12,3,6);
CREATE TABLE sweep ( -- one poll of all ports
	id INTEGER PRIMARY KEY, -- incremented by each sweep; defines the order of sweeps
	wall_us INTEGER NOT NULL, -- wall clock at its start, us since 1970 UTC
	start_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us
	end_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us
	boot INTEGER NOT NULL REFERENCES boot (id),
	topology INTEGER NOT NULL, -- first sweep with this topology
	from_node INTEGER, -- node of the collector, and its port
	from_port INTEGER,
	interval_us INTEGER NOT NULL, -- configured interval; 0: a single sweep
	discovery_us INTEGER NOT NULL, -- duration of the discovery before the sweep; 0: none
	discovery_smps INTEGER NOT NULL,
	ports_planned INTEGER NOT NULL,
	ports_polled INTEGER NOT NULL,
	ports_answered INTEGER NOT NULL,
	mads_sent INTEGER NOT NULL,
	mads_timed_out INTEGER NOT NULL,
	mads_retried INTEGER NOT NULL,
	sm_known INTEGER NOT NULL, -- 1: the master SM responded
	sm_lid INTEGER NOT NULL,
	sm_guid INTEGER NOT NULL, -- a port GUID
	sm_state INTEGER NOT NULL, -- 0 not active, 1 discovering, 2 standby, 3 master
	sm_priority INTEGER NOT NULL,
	sm_act_count INTEGER NOT NULL,
	ports_unfinished INTEGER, -- not polled completely before the end of the sweep; NULL: not known
	spread_us INTEGER, -- time between the first and the last reading; NULL: not known
	node_spread_us INTEGER, -- largest such time within one switch; NULL: not known
	CONSTRAINT sweep_range CHECK (
		id BETWEEN 1 AND 1099511627776 AND topology BETWEEN 1 AND 1099511627776 AND
		wall_us BETWEEN 0 AND 253402300799999999 AND interval_us >= 0)
) STRICT;
INSERT INTO "sweep" VALUES(1,1795467598023872,70001302957,70001316453,1,1,6,1,1000000,27543,32,16,14,14,40,0,0,1,1,883445511175016449,3,0,126,0,5995,5889);
INSERT INTO "sweep" VALUES(2,1795467599026312,70002305397,70002309505,1,1,6,1,1000000,0,0,16,14,14,35,0,0,1,1,883445511175016449,3,0,211,0,3410,3398);
INSERT INTO "sweep" VALUES(3,1795467600023975,70003303061,70003304161,1,1,6,1,1000000,0,0,16,14,14,36,0,0,1,1,883445511175016449,3,0,212,0,653,617);
INSERT INTO "sweep" VALUES(4,1795467601025382,70004304469,70004306276,1,1,6,1,1000000,0,0,16,14,14,34,0,0,1,1,883445511175016449,3,0,213,0,827,791);
INSERT INTO "sweep" VALUES(5,1795467602023992,70005303078,70005304844,1,1,6,1,1000000,0,0,16,14,14,34,0,0,1,1,883445511175016449,3,0,214,0,848,813);
INSERT INTO "sweep" VALUES(6,1795467603023951,70006303037,70006305889,1,1,6,1,1000000,0,0,16,14,14,35,0,0,1,1,883445511175016449,3,0,215,0,1985,1980);
INSERT INTO "sweep" VALUES(7,1795467604023995,70007303081,70007304559,1,7,6,1,1000000,32765,6,16,12,12,34,0,0,1,1,883445511175016449,3,0,216,0,732,618);
INSERT INTO "sweep" VALUES(8,1795467605023977,70008303063,70008304398,1,7,6,1,1000000,0,0,16,12,12,32,0,0,1,1,883445511175016449,3,0,218,0,640,628);
INSERT INTO "sweep" VALUES(9,1795467606025235,70009304322,70009305624,1,7,6,1,1000000,0,0,16,12,12,31,0,0,1,1,883445511175016449,3,0,219,0,631,620);
INSERT INTO "sweep" VALUES(10,1795467607023973,70010303059,70010315570,1,7,6,1,1000000,0,0,16,12,12,32,1,1,1,1,883445511175016449,3,0,220,0,500,420);
INSERT INTO "sweep" VALUES(11,1795467608023974,70011303060,70011304758,1,7,6,1,1000000,0,0,16,12,12,36,0,0,1,1,883445511175016449,3,0,98,0,923,913);
INSERT INTO "sweep" VALUES(12,1795467609029055,70012308141,70012386836,1,12,6,1,1000000,28484,7,16,14,14,52,6,4,0,1,0,0,0,0,0,801,753);
INSERT INTO "sweep" VALUES(13,1795467610023976,70013303062,70013306487,1,12,6,1,1000000,0,0,16,14,14,34,0,0,1,1,883445511175016449,3,0,105,0,2850,2764);
INSERT INTO "sweep" VALUES(14,1795467611023972,70014303058,70014339387,1,12,6,1,1000000,0,0,16,14,14,35,0,0,1,1,883445511175016449,3,0,106,0,27093,27077);
INSERT INTO "sweep" VALUES(15,1795467612023999,70015303085,70015304274,1,12,6,1,1000000,0,0,16,14,14,32,0,0,1,1,883445511175016449,3,0,107,0,620,604);
INSERT INTO "sweep" VALUES(16,1795467613023981,70016303067,70016306280,1,12,6,1,1000000,0,0,16,14,14,34,0,0,1,1,883445511175016449,3,0,108,0,747,717);
INSERT INTO "sweep" VALUES(17,1795467614044753,70017323840,70017340422,1,12,6,1,1000000,0,0,16,14,14,34,0,0,1,1,883445511175016449,3,0,109,0,8680,8673);
INSERT INTO "sweep" VALUES(18,1795467615023960,70018303046,70018312259,1,12,6,1,1000000,0,0,16,14,14,35,0,0,1,1,883445511175016449,3,0,110,0,638,587);
INSERT INTO "sweep" VALUES(19,1795467616023978,70019303063,70019305490,1,12,6,1,1000000,0,0,16,14,14,38,0,0,1,1,883445511175016449,3,0,111,0,1085,1001);
INSERT INTO "sweep" VALUES(20,1795467617023960,70020303045,70020305228,1,12,6,1,1000000,0,0,16,14,14,36,0,0,1,1,883445511175016449,3,0,112,0,814,774);
CREATE INDEX sweep_by_time ON sweep (wall_us);
CREATE INDEX node_version_by_node ON node_version (node, from_sweep);
CREATE INDEX port_version_by_port ON port_version (port, from_sweep);
CREATE INDEX span_by_end ON span (to_sweep);
CREATE INDEX event_by_time ON event (wall_us);
CREATE INDEX route_version_now ON route_version (node, block) WHERE to_sweep IS NULL;
CREATE INDEX finding_by_end ON finding (closed_us);
CREATE INDEX finding_by_time ON finding (opened_us);
CREATE INDEX chunk_window_by_sweep ON chunk_window (to_sweep);
CREATE INDEX hour_by_sweep ON hour (to_sweep);
CREATE UNIQUE INDEX snapshot_by_name ON snapshot (name) WHERE complete;
CREATE VIEW traffic AS -- deltas of each port (needs ibwire sql or ibwire-sql.so); at most 2^63 - 1
SELECT d.time AS time, d.sweep AS sweep, d.node AS node, d.node_guid AS node_guid, d.port AS port,
	d.elapsed_us AS elapsed_us,
	d.xmit_bytes AS xmit_bytes,
	d.rcv_bytes AS rcv_bytes,
	CASE WHEN d.xmit_packets < 0 THEN 9223372036854775807 ELSE d.xmit_packets END AS xmit_packets,
	CASE WHEN d.rcv_packets < 0 THEN 9223372036854775807 ELSE d.rcv_packets END AS rcv_packets,
	CASE WHEN d.xmit_wait < 0 THEN 9223372036854775807 ELSE d.xmit_wait END AS xmit_wait_ticks,
	CASE WHEN d.unicast_xmit_packets < 0 THEN 9223372036854775807 ELSE d.unicast_xmit_packets END AS unicast_xmit_packets,
	CASE WHEN d.unicast_rcv_packets < 0 THEN 9223372036854775807 ELSE d.unicast_rcv_packets END AS unicast_rcv_packets,
	CASE WHEN d.multicast_xmit_packets < 0 THEN 9223372036854775807 ELSE d.multicast_xmit_packets END AS multicast_xmit_packets,
	CASE WHEN d.multicast_rcv_packets < 0 THEN 9223372036854775807 ELSE d.multicast_rcv_packets END AS multicast_rcv_packets
FROM sample d;
CREATE VIEW node_names AS -- names of nodes, and when they were valid; (was): the last specific name
SELECT v.node AS node, v.from_sweep AS from_sweep, v.to_sweep AS to_sweep,
	CASE WHEN (v.name GLOB '*Mellanox Technologies' OR substr(v.name, 1, instr(v.name || ' ', ' ') - 1) IN ('localhost', 'localhost.localdomain', '(none)') OR v.name GLOB 'HCA-[0-9]*' AND v.name NOT GLOB 'HCA-*[^0-9]*' OR v.name GLOB 'mlx[!-~]_[0-9]*' AND v.name NOT GLOB 'mlx[!-~]_*[^0-9]*' OR v.name GLOB 'hfi[!-~]_[0-9]*' AND v.name NOT GLOB 'hfi[!-~]_*[^0-9]*' OR v.name GLOB '0x*' AND trim(CAST(v.description AS TEXT)) = '') THEN coalesce((SELECT w.name || ' (was)'
	FROM node_version w WHERE w.node = v.node AND w.from_sweep < v.from_sweep
	AND NOT (w.name GLOB '*Mellanox Technologies' OR substr(w.name, 1, instr(w.name || ' ', ' ') - 1) IN ('localhost', 'localhost.localdomain', '(none)') OR w.name GLOB 'HCA-[0-9]*' AND w.name NOT GLOB 'HCA-*[^0-9]*' OR w.name GLOB 'mlx[!-~]_[0-9]*' AND w.name NOT GLOB 'mlx[!-~]_*[^0-9]*' OR w.name GLOB 'hfi[!-~]_[0-9]*' AND w.name NOT GLOB 'hfi[!-~]_*[^0-9]*' OR w.name GLOB '0x*' AND trim(CAST(w.description AS TEXT)) = '')
	ORDER BY w.from_sweep DESC LIMIT 1), v.name) ELSE v.name END AS name
FROM node_version v;
CREATE VIEW errors AS -- error counters that increased, were reset or are saturated
SELECT strftime('%Y-%m-%dT%H:%M:%S', s.wall_us / 1000000, 'unixepoch') || printf('.%06dZ', s.wall_us % 1000000) AS time, e.sweep AS sweep,
	(SELECT named.name FROM node_names named WHERE named.node = p.node AND named.from_sweep <= e.sweep ORDER BY named.from_sweep DESC LIMIT 1) AS node, printf('0x%016x', n.guid) AS node_guid, p.number AS port,
	k.key AS counter, CASE WHEN e.value < 0 THEN 9223372036854775807 ELSE e.value END AS value,
	k.unit AS unit, e.marks & 1 AS reset, e.marks >> 1 & 1 AS saturated
FROM error e JOIN sweep s ON s.id = (SELECT min(k.id) FROM sweep k WHERE k.id >= e.sweep) JOIN port p ON p.id = e.port
	JOIN node n ON n.id = p.node JOIN counter k ON k.id = e.counter;
CREATE VIEW gaps AS -- spans without readings
SELECT strftime('%Y-%m-%dT%H:%M:%S', s.wall_us / 1000000, 'unixepoch') || printf('.%06dZ', s.wall_us % 1000000) AS since, strftime('%Y-%m-%dT%H:%M:%S', u.wall_us / 1000000, 'unixepoch') || printf('.%06dZ', u.wall_us % 1000000) AS until,
	(SELECT named.name FROM node_names named WHERE named.node = p.node AND named.from_sweep <= g.from_sweep ORDER BY named.from_sweep DESC LIMIT 1) AS node, printf('0x%016x', n.guid) AS node_guid, p.number AS port,
	(SELECT c.name FROM code c WHERE c.kind = 'why' AND c.value = g.why) AS why, g.from_sweep AS from_sweep, g.to_sweep AS to_sweep
FROM span g JOIN sweep s ON s.id = (SELECT min(k.id) FROM sweep k WHERE k.id >= g.from_sweep)
	LEFT JOIN sweep u ON u.id = (SELECT min(k.id) FROM sweep k WHERE k.id >= g.to_sweep)
	JOIN port p ON p.id = g.port JOIN node n ON n.id = p.node;
CREATE VIEW nodes AS -- the nodes of the newest sweep
SELECT (SELECT named.name FROM node_names named WHERE named.node = v.node ORDER BY named.from_sweep DESC LIMIT 1) AS node, printf('0x%016x', n.guid) AS node_guid,
	(SELECT c.name FROM code c WHERE c.kind = 'node_type' AND c.value = v.type) AS type,
	v.port_count AS port_count, v.lid AS lid, v.vendor_id AS vendor_id, v.device_id AS device_id,
	printf('0x%016x', v.system_guid) AS system_guid, v.adaptive_routing AS adaptive_routing
FROM node_version v JOIN node n ON n.id = v.node WHERE v.to_sweep IS NULL;
CREATE VIEW ports AS -- the ports of the newest sweep, each with its peer
SELECT (SELECT named.name FROM node_names named WHERE named.node = p.node ORDER BY named.from_sweep DESC LIMIT 1) AS node, printf('0x%016x', n.guid) AS node_guid, p.number AS port,
	(SELECT c.name FROM code c WHERE c.kind = 'state' AND c.value = v.state) AS state, (SELECT c.name FROM code c WHERE c.kind = 'phys_state' AND c.value = v.phys_state) AS phys_state,
	(SELECT c.name FROM code c WHERE c.kind = 'width' AND c.value = v.width) AS width, (SELECT c.name FROM code c WHERE c.kind = 'speed' AND c.value = v.speed) AS speed, v.lid AS lid,
	(SELECT named.name FROM node_names named WHERE named.node = q.node ORDER BY named.from_sweep DESC LIMIT 1) AS peer, q.number AS peer_port
FROM port_version v JOIN port p ON p.id = v.port JOIN node n ON n.id = p.node LEFT JOIN port q ON q.id = v.peer
WHERE v.to_sweep IS NULL;
CREATE VIEW events AS -- events, with the names of that time
SELECT strftime('%Y-%m-%dT%H:%M:%S', e.wall_us / 1000000, 'unixepoch') || printf('.%06dZ', e.wall_us % 1000000) AS time, e.kind AS kind, (SELECT c.name FROM code c WHERE c.kind = 'severity' AND c.value = e.severity) AS severity,
	(SELECT named.name FROM node_names named WHERE named.node = (SELECT n.id FROM node n WHERE n.guid = e.node_guid) AND named.from_sweep <= e.sweep ORDER BY named.from_sweep DESC LIMIT 1) AS node,
	e.port AS port,
	(SELECT named.name FROM node_names named WHERE named.node = (SELECT n.id FROM node n WHERE n.guid = e.peer_guid) AND named.from_sweep <= e.sweep ORDER BY named.from_sweep DESC LIMIT 1) AS peer,
	e.peer_port AS peer_port, e.text AS text
FROM event e;
CREATE VIEW findings AS -- findings in their latest state; closed is NULL while open
SELECT strftime('%Y-%m-%dT%H:%M:%S', f.since_us / 1000000, 'unixepoch') || printf('.%06dZ', f.since_us % 1000000) AS since, strftime('%Y-%m-%dT%H:%M:%S', f.opened_us / 1000000, 'unixepoch') || printf('.%06dZ', f.opened_us % 1000000) AS opened, strftime('%Y-%m-%dT%H:%M:%S', f.closed_us / 1000000, 'unixepoch') || printf('.%06dZ', f.closed_us % 1000000) AS closed,
	f.kind AS kind, (SELECT c.name FROM code c WHERE c.kind = 'severity' AND c.value = s.severity) AS severity, s.subject AS subject, s.cause AS cause,
	s.text AS text, printf('0x%016x', f.node_guid) AS node_guid, f.port AS port, s.evidence AS evidence
FROM finding f JOIN finding_state s ON s.finding = f.id AND s.from_sweep =
	(SELECT max(l.from_sweep) FROM finding_state l WHERE l.finding = f.id);
CREATE VIEW sweeps AS -- sweeps, with their duration and coverage
SELECT s.id AS sweep, strftime('%Y-%m-%dT%H:%M:%S', s.wall_us / 1000000, 'unixepoch') || printf('.%06dZ', s.wall_us % 1000000) AS time, s.end_us - s.start_us AS duration_us,
	s.interval_us AS interval_us, s.ports_planned AS ports_planned, s.ports_polled AS ports_polled,
	s.ports_answered AS ports_answered, s.mads_sent AS mads_sent, s.mads_timed_out AS mads_timed_out,
	s.ports_unfinished AS ports_unfinished, s.spread_us AS spread_us, s.node_spread_us AS node_spread_us
FROM sweep s;
CREATE VIEW details AS -- slow counters, one row per counter read, including zeros
SELECT strftime('%Y-%m-%dT%H:%M:%S', s.wall_us / 1000000, 'unixepoch') || printf('.%06dZ', s.wall_us % 1000000) AS time, d.sweep AS sweep,
	(SELECT named.name FROM node_names named WHERE named.node = p.node AND named.from_sweep <= d.sweep ORDER BY named.from_sweep DESC LIMIT 1) AS node, printf('0x%016x', n.guid) AS node_guid, p.number AS port,
	(SELECT c.name FROM code c WHERE c.kind = 'attribute' AND c.value = d.attribute) AS attribute, (SELECT c.name FROM code c WHERE c.kind = 'layout' AND c.value = d.layout) AS layout,
	k.key AS counter,
	CASE WHEN d.unknown >> k.number & 1 THEN NULL ELSE coalesce(v.counted, 0) END AS value,
	k.unit AS unit, d.elapsed_us AS elapsed_us, coalesce(v.value, 0) AS reading,
	coalesce(v.marks, 0) & 1 AS reset, coalesce(v.marks, 0) >> 1 & 1 AS saturated
FROM detail d JOIN sweep s ON s.id = d.sweep JOIN port p ON p.id = d.port JOIN node n ON n.id = p.node
	JOIN detail_counter k ON k.attribute = d.attribute AND NOT d.missing >> k.number & 1
	LEFT JOIN detail_value v ON v.sweep = d.sweep AND v.port = d.port AND v.counter = k.id;
COMMIT;
PRAGMA journal_mode = WAL;
