/* SPDX-License-Identifier: MIT */
/*
 * Functions for SQL: how sure a number is, and how weft puts things into
 * words. weft sql has them; every other SQLite gets them from weft.so:
 *
 *     sqlite3 weft.db -cmd '.load weft'
 *
 * Intervals are 95 %, two-sided (query/stats.h). NULL in gives NULL out.
 *
 *   wilson_low(k, n), wilson_high(k, n)      of a share, k of n samples;
 *   ... (k, n, 'listed')                     of one that is listed as it has
 *                                            a sample at all
 *   poisson_low(k), poisson_high(k)          of a mean, k events; 'listed' too
 *   weighted_low(sum, sum_sq, largest),      of a sum of weights w: sum(w),
 *   weighted_high(...)                       sum(w * w), the largest possible w
 *   trace_hex(blob)                          an ID as lower-case hex
 *   folded(stack_id)                         a stack as one line of text
 *   percentile(x, p), median(x)              aggregates: the smallest x with at
 *                                            least p % of all at or below it
 *   percentile_low(x, p),                    its interval, where the x are a
 *   percentile_high(x, p)                    random sample; NULL: no limit
 */
#ifndef WEFT_SQL_FUNCTIONS_H
#define WEFT_SQL_FUNCTIONS_H

struct sqlite3;

/* Add them to a connection. Returns an SQLite result code. */
int sql_functions_add(struct sqlite3 *db);

#endif
