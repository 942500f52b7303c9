import { parseCrontab } from 'graphile-worker';
import { z } from 'zod';
import { eventTypes } from '../../contract/events.ts';
import { ExtensionError, reasonOf } from './extension-error.ts';

const Name = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must have at most 40 lower-case letters, digits and hyphens')
  .refine(name => name !== 'core', 'must not be core: the migrations of the server have this name');

const Code = z.custom<(...parameters: never[]) => unknown>(value => typeof value === 'function', 'must be a function');

const Task = z.string().regex(/^[a-z][a-z0-9_]{0,59}$/, 'must have lower-case letters, digits and underscores');

const Times = z.string().refine(isCrontab, 'must be the five fields of a crontab, such as 17 3 * * *');

const Definition = z
  .strictObject({
    name: Name,
    migrations: z.union([z.instanceof(URL), z.string()], 'must be a directory').optional(),
    settings: z
      .custom(value => typeof (value as z.ZodObject)?.safeParse === 'function' && 'shape' in (value as object), {
        error: 'must be a z.object',
      })
      .optional(),
    register: Code.optional(),
    on: z.partialRecord(z.enum(eventTypes), Code).optional(),
    tasks: z.record(Task, Code).optional(),
    cron: z.record(Task, Times).optional(),
    eraseUser: Code.optional(),
  })
  .superRefine(({ tasks = {}, cron = {} }, context) => {
    for (const task of Object.keys(cron)) {
      if (!(task in tasks)) context.addIssue({ code: 'custom', path: ['cron', task], message: 'is not in tasks' });
    }
  });

function isCrontab(times: string): boolean {
  if (!/^\S+( +\S+){4}$/.test(times)) return false;
  try {
    return parseCrontab(`${times} task`).length === 1;
  } catch {
    return false;
  }
}

/** Throws an error if the definition of an extension is invalid. TypeScript finds most invalid definitions earlier. */
export function checkDefinition(definition: unknown): void {
  const { error } = Definition.safeParse(definition);
  if (!error) return;
  const { name } = { ...(definition as object) } as { name?: unknown };
  const problems = error.issues.map(({ path, message }) => `${path.map(String).join('.')} ${reasonOf(message)}`.trim());
  throw new ExtensionError(
    typeof name === 'string' ? name : 'without a name',
    `has an invalid definition: ${problems.join('; ')}`,
  );
}
