/**
 * Shifts the clock of a process, so that a test need not wait for the end of a minute. The file CLOCK_SHIFT_FILE
 * contains the shift in milliseconds. The shift begins when this file exists. A process must import this module before
 * all other modules.
 */
import { readFileSync } from 'node:fs';

const RealDate = Date;
let shiftMs: number | undefined;

function now(): number {
  try {
    shiftMs ??= Number(readFileSync(process.env.CLOCK_SHIFT_FILE ?? '', 'utf8'));
  } catch {
    // Ignores a missing file. Until the file exists, the clock is not shifted.
  }
  return RealDate.now() + (shiftMs ?? 0);
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, parameters) => Reflect.construct(target, parameters.length === 0 ? [now()] : parameters),
  get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
});
