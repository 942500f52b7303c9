import { setTimeout as delay } from 'node:timers/promises';

const clients = 4;
const pauseMs = 50;

/**
 * Starts clients, and counts the responses. Each client creates an idea, votes for it and reads it, again and again.
 */
export function startLoad(baseUrl: string, token: string) {
  const statuses = new Map<string, number>();
  const created: number[] = [];
  let isOver = false;

  async function ask(name: string, path: string, body?: object) {
    const outcome = await fetch(`${baseUrl}/api/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
      .then(async response => {
        const text = await response.text();
        // The proxy's own errors, such as 502, have no body.
        return { status: String(response.status), json: text === '' ? {} : JSON.parse(text) };
      })
      .catch((error: Error) => ({
        status: `failed: ${(error.cause as Error | undefined)?.message ?? error.message}`,
        json: {},
      }));
    const key = `${name} ${outcome.status}`;
    statuses.set(key, (statuses.get(key) ?? 0) + 1);
    return outcome.json as { id?: number };
  }

  async function send(client: number) {
    for (let turn = 0; !isOver; turn++) {
      const { id } = await ask('create', '/ideas', { title: `Idea ${turn} of client ${client}`, body: 'Under load.' });
      if (id !== undefined) {
        created.push(id);
        await ask('vote', `/ideas/${id}/vote`, { value: 'up' });
        await ask('read', `/ideas/${id}`);
      }
      await delay(pauseMs);
    }
  }
  const sent = Promise.all(Array.from({ length: clients }, (_, client) => send(client)));
  return {
    created,
    /** Ends the load. Returns the number of answers with each status. Throws if a request failed. */
    async stop() {
      isOver = true;
      await sent;
      const text = [...statuses].sort().map(([key, count]) => `${key}: ${count}`);
      const isFailed = [...statuses.keys()].some(key => !/ 20[01]$/.test(key));
      if (isFailed) throw new Error(`requests failed: ${text.join(', ')}`);
      return text.join(', ');
    },
  };
}
