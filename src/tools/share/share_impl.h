/* Messages between the processes; inside tools/share. */
#pragma once

#include "base/os/comm.h"
#include "tools/share/share.h"

enum bkt_msg_kind {
    BKT_MSG_NEWS,   /* from the first process: body */
    BKT_MSG_UNIT,   /* from the first process: body */
    BKT_MSG_STOP,   /* a unit has failed: the others answer units with BKT_ECANCEL */
    BKT_MSG_RESUME, /* all units before are answered; work on new ones again */
    BKT_MSG_OVER,   /* the verb has ended */
    BKT_MSG_LEAVE,  /* code: the common exit code */
    BKT_MSG_RESULT, /* from another process: code of the unit; body: result, or the packed error */
    BKT_MSG_TEXT,   /* from another process: text only */
    BKT_MSG_BYE,    /* from another process: its exit code */
    BKT_MSG_KINDS
};
struct bkt_msg {
    enum bkt_msg_kind kind;
    unsigned from;
    int64_t code;
    struct bkt_rd body; /* lies in bytes */
    struct bkt_buf bytes;
};

/** Send.  Messages of the others carry the texts that they have printed since the last one. */
BKT_NODISCARD int bkt_msg_send(unsigned to, enum bkt_msg_kind kind, int64_t code, const void *body, size_t n,
                               struct bkt_err *err);
/** Send to all others; from the first process. */
BKT_NODISCARD int bkt_msg_to_all(enum bkt_msg_kind kind, int64_t code, const void *body, size_t n,
                                 struct bkt_err *err);
/** The next message, if there is one: 1, 0 or a failure.  Texts in it are printed.  @p m: bkt_msg_fini() */
BKT_NODISCARD int bkt_msg_poll(struct bkt_msg *m, struct bkt_err *err);
/** Let a moment pass after @p tries polls in vain. */
void bkt_msg_rest(unsigned tries);
/** Wait for a message. */
BKT_NODISCARD int bkt_msg_wait(struct bkt_msg *m, struct bkt_err *err);
void bkt_msg_fini(struct bkt_msg *m);
/** Another process sends its texts before they grow long. */
int bkt_msg_send_long_text(struct bkt_err *err);

/** share.c: answer messages without working, until the verb has ended. */
BKT_NODISCARD int bkt_serve_end(struct bkt_err *err);
