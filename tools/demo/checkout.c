/* SPDX-License-Identifier: MIT */
/*
 * A checkout with a flaw that an average hides: coupons are matched against
 * each other, so that part grows with the square of the cart. In ordinary
 * requests it is small change; in the few large ones it is most of the time.
 */
#include "route.h"
#include "splitmix.h"

enum {
	ITEMS_PER_COST = 256,
	PRICE_STEPS = 900
};

ROUTE_FUNCTION static uint64_t checkout_check_stock(unsigned int items,
						    uint64_t seed)
{
	uint64_t sum = 0;

	KEEP_FRAME();
	for (uint64_t item = 0; item < items; item++) {
		uint64_t shelf = seed ^ item;

		for (int i = 0; i < PRICE_STEPS / 4; i++)
			shelf = splitmix(shelf);
		sum += shelf;
	}
	return sum;
}

ROUTE_FUNCTION static uint64_t checkout_price_cart(unsigned int items,
						   uint64_t seed)
{
	uint64_t cents = 0;

	KEEP_FRAME();
	for (uint64_t item = 0; item < items; item++) {
		uint64_t price = seed + item;

		for (int i = 0; i < PRICE_STEPS; i++)
			price = price * 107 / 100 + (price >> 60);
		cents += price % 10000;
	}
	return cents;
}

ROUTE_FUNCTION static uint64_t checkout_match_coupons(unsigned int items,
						      uint64_t seed)
{
	uint64_t matches = 0;

	KEEP_FRAME();
	for (uint64_t a = 0; a < items; a++) {
		for (uint64_t b = 0; b < items; b++) {
			uint64_t pair = splitmix(seed ^ (a << 32 | b));

			matches += pair % 97 == 0;
		}
	}
	return matches;
}

uint64_t checkout_run(unsigned int cost, uint64_t seed)
{
	unsigned int items = cost * ITEMS_PER_COST;

	return checkout_check_stock(items, seed) +
	       checkout_price_cart(items, seed) +
	       checkout_match_coupons(items, seed);
}
