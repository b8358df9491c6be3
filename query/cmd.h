/* SPDX-License-Identifier: MIT */
/* The commands of weft: each returns its exit status (enum weft_exit). */
#ifndef WEFT_CMD_H
#define WEFT_CMD_H

int cmd_diff(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_hist(int argc, char **argv);
int cmd_loss(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_traces(int argc, char **argv);

#endif
