/* Texts made from the table of verbs: --help, man pages, bash's completion, the list of docs/tool.md. */
#pragma once

#include <stdio.h>

#include "tools/cli/tool.h"

/** A line for each verb. */
void bkt_help_program(FILE *to);
/** One verb: usage, options, text. */
void bkt_help_verb(FILE *to, const struct bkt_verb *v);
/** The verbs as a Markdown table. */
void bkt_help_markdown(FILE *to);
/** Man page of the program (@p v NULL) or of one verb, for man(7) macros. */
void bkt_help_man(FILE *to, const struct bkt_verb *v);
/** A completion script for bash. */
void bkt_help_completion(FILE *to);
