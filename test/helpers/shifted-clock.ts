/**
 * Shifts the clock of a process, so that a test need not wait for the end of a minute. The file CLOCK_SHIFT_FILE
 * contains the shift in milliseconds. The shift takes effect when the file exists. A process imports this module before
 * all others.
 */
import { readFileSync } from 'node:fs';

const RealDate = Date;
let shiftMs: number | undefined;

function now(): number {
  try {
    shiftMs ??= Number(readFileSync(process.env.CLOCK_SHIFT_FILE ?? '', 'utf8'));
  } catch {
    // Ignores a missing file: the clock is then not shifted yet.
  }
  return RealDate.now() + (shiftMs ?? 0);
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, parameters) => Reflect.construct(target, parameters.length === 0 ? [now()] : parameters),
  get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
});
