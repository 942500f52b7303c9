import { randomUUID } from 'node:crypto';
import type { EventList, ListEventsQuery, ValidationIssue } from '@idea-board/client';
import { defaultEventTypes, defaultPerPage, excerptLength, maxWaitsOfToken } from '@idea-board/contract';
import type { BoardEvent } from './board-state.ts';
import { Refusal } from './refusal.ts';
import type { TestToken } from './tokens.ts';

interface LoggedEvent {
  id: string;
  event: BoardEvent;
}

/** The validated query of a request for the list of events. */
type Query = Omit<ListEventsQuery, 'types'> & { types?: readonly string[] | undefined };

/** The events of a test server, oldest first. */
export class EventLog {
  readonly #events: LoggedEvent[] = [];
  readonly #waiting = new Map<number, number>();
  readonly #wakers = new Set<() => void>();

  add(logged: LoggedEvent) {
    this.#events.push(logged);
    for (const wake of this.#wakers) wake();
  }

  /**
   * Lists the events after a cursor. If there are no such events and the query has `wait`, waits until an event arrives
   * or the signal aborts.
   */
  async list(query: Query, token: TestToken, signal: AbortSignal): Promise<EventList> {
    const start = query.after === 'now' ? this.#events.length : positionOf(query.after);
    const mayWait = query.wait && query.after !== 'now';
    if (mayWait && this.#read(start, query).data.length === 0) await this.#wait(start, query, token, signal);
    return this.#read(start, query);
  }

  #read(start: number, { types = defaultEventTypes, limit = defaultPerPage, body }: Query): EventList {
    const later = this.#events
      .map(({ id, event }, position) => ({ id, cursor: cursorAt(position + 1), event }))
      .slice(start)
      .filter(({ event }) => types.includes(event.type));
    const data = later.slice(0, limit);
    const hasMore = later.length > limit;
    const last = data.at(-1);
    return {
      data: body === 'excerpt' ? data.map(one => ({ ...one, event: excerptOf(one.event) })) : data,
      has_more: hasMore,
      next_cursor: hasMore && last ? last.cursor : cursorAt(Math.max(start, this.#events.length)),
    };
  }

  async #wait(start: number, query: Query, token: TestToken, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(token.id) ?? 0;
    if (waiting >= maxWaitsOfToken) throw new Refusal('too_many_waits', { headers: { 'retry-after': '5' } });
    this.#waiting.set(token.id, waiting + 1);
    await new Promise<void>(resolve => {
      const wake = () => {
        if (signal.aborted || this.#read(start, query).data.length > 0) end();
      };
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#wakers.delete(wake);
        resolve();
      };
      const timer = setTimeout(end, (query.wait ?? 0) * 1000);
      signal.addEventListener('abort', wake);
      this.#wakers.add(wake);
    });
    this.#waiting.set(token.id, (this.#waiting.get(token.id) ?? 1) - 1);
  }
}

export function newEventId(): string {
  return `evt_${randomUUID()}`;
}

function cursorAt(position: number): string {
  return btoa(`events ${position}`);
}

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  try {
    const position = /^events (\d+)$/.exec(atob(cursor))?.[1];
    if (position !== undefined) return Number(position);
  } catch {
    // The cursor is invalid, so the code below throws a Refusal.
  }
  const message = 'Is not a cursor of an event of this board';
  const issue: ValidationIssue = { path: ['query', 'after'], code: 'custom', message };
  throw new Refusal('validation_failed', { issues: [issue] });
}

function excerptOf(event: BoardEvent): BoardEvent {
  const shorten = <Idea extends { body: string }>(idea: Idea) => {
    const characters = [...idea.body];
    const body_truncated = characters.length > excerptLength;
    return { ...idea, body: body_truncated ? characters.slice(0, excerptLength).join('') : idea.body, body_truncated };
  };
  const { idea } = event.data;
  const target = 'target' in event.data ? { target: shorten(event.data.target) } : {};
  return { ...event, data: { ...event.data, idea: shorten(idea), ...target } } as BoardEvent;
}
