import { type DestinationStream, type Logger, pino } from 'pino';
import { appKeyWhenKept } from '../app-key.ts';
import type { Config } from '../config.ts';
import { buildRedactor, type RedactorOptions } from './redactor.ts';
import { standardOutput } from './standard-output.ts';

/**
 * Builds the log of the server: JSON lines, by default on standard output, with masked addresses and without secrets
 * (Limits, operational rule 3). The `redact` option of pino takes exact paths. It covers neither every spelling of a field
 * at any depth, nor secrets inside a text.
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
      // The errors are described already. Pino's own serializer would describe them again.
      serializers: { msg: redactor.text, err: described => described },
    },
    destination,
  );
  // Pino serializes the fields of a child once, without calling the formatter.
  const { child } = logger;
  return Object.assign(logger, {
    child(this: Logger, bindings: object, options: object) {
      return child.call(this, readFields(bindings), options);
    },
  });
}
