import { excerptLength } from '../../contract/limits.ts';
import { defaultPerPage } from '../../contract/pagination.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { presentEvents, readPlace } from '../domain/events/list-events.ts';
import type { EventWaits } from '../http/event-waits.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import { buildEventReader } from '../http/read-events.ts';
import { actorOf } from '../http/request-context.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function eventEndpoints(
  { config }: Pick<ServerDependencies, 'config'>,
  runner: OperationRunner,
  waits: EventWaits,
): Pick<Endpoints, 'listEvents'> {
  const readEvents = buildEventReader(runner, waits);
  return {
    listEvents: async ({ request, reply, query: { after, types, limit = defaultPerPage, wait = 0, body } }) => {
      const filter = { after: readPlace(after, actorOf(request).boardId), types, limit };
      const page = await readEvents(request, reply, filter, wait);
      const maxBodyLength = body === 'excerpt' ? excerptLength : undefined;
      return { status: 200, body: presentEvents(page, { config, maxBodyLength }) };
    },
  };
}
