import { type DestinationStream, type Logger, pino } from 'pino';
import { appKeyWhenKept } from '../app-key.ts';
import type { Config } from '../config.ts';
import { buildRedactor, type RedactorOptions } from './redactor.ts';
import { standardOutput } from './standard-output.ts';

/**
 * Builds the log of the server: lines of JSON, by default on standard output. In these lines, e-mail addresses are
 * masked and secrets are removed (specification: Limits, operational rule 3). Pino's option `redact` would not be
 * enough, because it takes exact paths. It finds neither every spelling of a field name at any depth, nor a secret
 * inside a text.
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
      // The redactor has already converted errors. Pino's own serializer would convert them a second time.
      serializers: { msg: redactor.text, err: described => described },
    },
    destination,
  );
  // Pino serializes the fields of a child logger only once, and without the formatter that redacts other fields. So
  // this function redacts them.
  const { child } = logger;
  return Object.assign(logger, {
    child(this: Logger, bindings: object, options: object) {
      return child.call(this, readFields(bindings), options);
    },
  });
}
