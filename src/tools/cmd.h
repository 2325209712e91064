/* One command of h5bucket: a row of the table in main.c, a function in cmd_NAME.c. */
#ifndef CMD_H
#define CMD_H

/** @p argv[0] is the command's name.
 * @return the exit code: 0 done, 1 failed (told on stderr), 2 wrong usage */
typedef int cmd_fn(int argc, char **argv);

cmd_fn cmd_pointer;
cmd_fn cmd_settings;

#endif
