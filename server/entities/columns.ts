import { p } from '@mikro-orm/core';

/** Ids are 64-bit in the database and numbers here: a sequence stays below 2^53. */
export const bigint = () => p.bigint('number');

/** A time to the millisecond, as a JavaScript Date holds it. */
export const timestamp = () => p.datetime().length(3);
