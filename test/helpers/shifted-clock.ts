/**
 * Imported before anything else, it puts the clock of a process off by the milliseconds that the file CLOCK_SHIFT_FILE
 * says, once it is there: so a test need not wait for the end of a minute.
 */
import { readFileSync } from 'node:fs';

const RealDate = Date;
let shiftMs: number | undefined;

function now(): number {
  try {
    shiftMs ??= Number(readFileSync(process.env.CLOCK_SHIFT_FILE ?? '', 'utf8'));
  } catch {
    // Not yet.
  }
  return RealDate.now() + (shiftMs ?? 0);
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, parameters) => Reflect.construct(target, parameters.length === 0 ? [now()] : parameters),
  get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
});
