/* SPDX-License-Identifier: MIT */
/*
 * What a file's schema must be. A file may come from anybody: a view in place
 * of a table can make any question endless, a trigger runs on what we write.
 * So all that has a name of ours has to be ours; what else a file has
 * (indexes, tables and views of its own) nobody asks for.
 */
#ifndef WEFT_SCHEMA_H
#define WEFT_SCHEMA_H

#include "store/weft.h"

struct sqlite3;

/*
 * See that the file has no trigger, and each table of that schema version,
 * made by the same statement; comments and blanks do not count. path is for
 * messages. -EPROTO: it differs; else why it could not be read.
 */
int schema_check(struct sqlite3 *db, const char *path, int version,
		 struct weft_err *err) MUST_CHECK;

/*
 * Where any of the file's views is not ours (of another weft, or foreign) make
 * all of ours as temporary ones, which names lead to first. For who only
 * reads: the connection must allow that. Tables have been checked.
 */
int schema_use_own_views(struct sqlite3 *db, const char *path,
			 struct weft_err *err) MUST_CHECK;

#endif
