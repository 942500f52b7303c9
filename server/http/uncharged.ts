import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { Counter } from './rate-limit.ts';

/** How many requests one process has let pass uncharged in a window. */
interface Passed {
  windowStartedAt: number;
  count: number;
}

const passedBy = new WeakMap<ServerDependencies, Passed>();

/**
 * Lets a request pass whose address could not be charged. All addresses together get what one address has in a window:
 * without the database the process cannot tell them apart, and a slow database must not lift the limit.
 */
export function passUncharged(server: ServerDependencies, { windowStartedAt, limit }: Counter) {
  const startedAt = windowStartedAt.getTime();
  let passed = passedBy.get(server);
  if (passed?.windowStartedAt !== startedAt) {
    passed = { windowStartedAt: startedAt, count: 0 };
    passedBy.set(server, passed);
  }
  if (passed.count >= limit) throw new DomainError('service_unavailable');
  passed.count++;
}
