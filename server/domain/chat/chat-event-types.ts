import type { EventType } from '../../../contract/events.ts';

/** What a chat can be told of. A vote would drown everything else. */
export const chatEventTypes = [
  'idea.created',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'comment.created',
] as const satisfies EventType[];

export type ChatEventType = (typeof chatEventTypes)[number];
