/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "query/figure.h"

/* Below these no share is worth printing (STATISTICS: "too few samples"). */
enum {
	FEW_OF_ALL = 30,
	FEW_OF_ONE = 5
};

const char *figure_count(struct figure *to, double count)
{
	char digits[48];
	size_t n, i, out = 0;

	n = (size_t)snprintf(digits, sizeof(digits), "%.0f", fabs(count));
	if (count <= -0.5)
		to->text[out++] = '-';
	for (i = 0; i < n && out + 2 < sizeof(to->text); i++) {
		if (i > 0 && (n - i) % 3 == 0)
			to->text[out++] = ',';
		to->text[out++] = digits[i];
	}
	to->text[out] = '\0';
	return to->text;
}

const char *figure_ns(struct figure *to, double ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t i = 0;
	double value;
	int decimals;

	while (i + 1 < sizeof(units) / sizeof(units[0]) &&
	       fabs(ns) < units[i].ns * 0.9995)
		i++;
	value = ns / units[i].ns;
	decimals = fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;
	if (units[i].ns <= 1)
		decimals = 0;
	snprintf(to->text, sizeof(to->text), "%.*f %s", decimals, value,
		 units[i].unit);
	return to->text;
}

const char *figure_value(struct figure *to, double value, const char *unit)
{
	if (!strcmp(unit, "ns"))
		return figure_ns(to, value);
	return figure_count(to, value);
}

const char *figure_percent(struct figure *to, double part, double all)
{
	double percent = all > 0 ? 100 * part / all : 0;
	const char *text = NULL;

	if (all <= 0)
		text = "-";
	else if (part <= 0)
		text = "0";
	else if (part >= all)
		text = "100";
	else if (percent < 0.1)
		text = "< 0.1";
	else if (percent > 99.9)
		text = "> 99.9";
	if (text)
		snprintf(to->text, sizeof(to->text), "%s", text);
	else
		snprintf(to->text, sizeof(to->text), "%.1f", percent);
	return to->text;
}

bool figure_is_few(const struct tally *part)
{
	return part->count < FEW_OF_ONE;
}

const char *figure_share_in(struct figure *to, const struct tally *part,
			    const struct tally *all, struct stats_interval in)
{
	if (all->count < FEW_OF_ALL)
		snprintf(to->text, sizeof(to->text), "-");
	else if (part->count == 0)
		snprintf(to->text, sizeof(to->text), "0");
	else if (figure_is_few(part))
		snprintf(to->text, sizeof(to->text), "<= %.2f", 100 * in.hi);
	else
		snprintf(to->text, sizeof(to->text), "%.2f",
			 100 * tally_share(part, all));
	return to->text;
}

const char *figure_limits(struct figure *to, const struct tally *part,
			  const struct tally *all, struct stats_interval in)
{
	if (all->count < FEW_OF_ALL || part->count == 0)
		snprintf(to->text, sizeof(to->text), "-");
	else
		snprintf(to->text, sizeof(to->text), "%.2f-%.2f", 100 * in.lo,
			 100 * in.hi);
	return to->text;
}

const char *figure_share(struct figure *to, const struct tally *part,
			 const struct tally *all)
{
	return figure_share_in(to, part, all, tally_share_interval(part, all));
}

const char *figure_share_interval(struct figure *to, const struct tally *part,
				  const struct tally *all)
{
	return figure_limits(to, part, all, tally_share_interval(part, all));
}

const char *figure_value_interval(struct figure *to, struct stats_interval in,
				  const char *unit)
{
	struct figure lo, hi;

	snprintf(to->text, sizeof(to->text), "%.28s .. %.28s",
		 figure_value(&lo, in.lo, unit),
		 figure_value(&hi, in.hi, unit));
	return to->text;
}

const char *figure_time(struct figure *to, int64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) ||
	    !strftime(to->text, sizeof(to->text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(to->text, sizeof(to->text), "-");
	return to->text;
}
