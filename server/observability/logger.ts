import { type DestinationStream, type Logger, pino } from 'pino';
import { appKeyWhenKept } from '../app-key.ts';
import type { Config } from '../config.ts';
import { buildRedactor, type RedactorOptions } from './redactor.ts';
import { standardOutput } from './standard-output.ts';

/**
 * The log of the server: JSON lines, on standard output unless told otherwise, with masked addresses and without what
 * must never be in a log (Limits, operational rule 3).
 */
export function buildLogger(
  config: Pick<Config, 'LOG_LEVEL' | 'APP_KEY' | 'DATA_DIR'>,
  destination: DestinationStream = standardOutput(),
  extensions: RedactorOptions['extensions'] = [],
): Logger {
  const redactor = buildRedactor({ appKey: appKeyWhenKept(config), settings: config, extensions });
  const readFields = (fields: object) => redactor.value(fields) as Record<string, unknown>;
  const logger = pino(
    {
      level: config.LOG_LEVEL,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: readFields },
      // Pino's own for errors would make one anew of what is read of it already.
      serializers: { msg: redactor.text, err: described => described },
    },
    destination,
  );
  // What every line of a child has is written once, when the child is made, and pino shows it to nobody before.
  const { child } = logger;
  return Object.assign(logger, {
    child(this: Logger, bindings: object, options: object) {
      return child.call(this, readFields(bindings), options);
    },
  });
}
