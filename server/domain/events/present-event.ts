import type { EventBody } from '../../../contract/events.ts';
import type { Idea } from '../../../contract/idea.ts';
import { presentIdea } from '../ideas/present-idea.ts';
import type { IdeaView } from '../ideas/read-idea.ts';
import { presentTime } from '../time.ts';
import type { RecordedEvent } from './recorded-event.ts';

/** An idea as idea_columns() stores it: what all readers see alike. */
type IdeaInEvent = Omit<IdeaView, 'my_vote' | 'author_id' | 'author_name'> & Pick<Idea, 'author'>;

/** What presentEvent changes of the stored data. The other parts are as the contract has them. */
interface EventData {
  idea?: IdeaInEvent;
  target?: IdeaInEvent;
}

/** Makes the body of an event, for webhooks, chats and extensions. The test of an endpoint has no ideas in its data. */
export function presentEvent({ type, occurred_at, data, body }: RecordedEvent): EventBody {
  // The version before recorded the body alone.
  if (data === null) return body as EventBody;
  const { idea, target, ...others } = data as EventData;
  return {
    type,
    timestamp: presentTime(occurred_at),
    data: {
      ...others,
      ...(idea && { idea: presentIdeaInEvent(idea) }),
      ...(target && { target: presentIdeaInEvent(target) }),
    },
  } as EventBody;
}

/** The body of a delivery, to the letter as it is signed and sent. */
export function writeEvent(event: RecordedEvent): string {
  return JSON.stringify(presentEvent(event));
}

function presentIdeaInEvent({ author, ...columns }: IdeaInEvent): Omit<Idea, 'my_vote'> {
  const { my_vote: _, ...idea } = presentIdea({
    ...columns,
    author_id: author.id,
    author_name: author.name,
    my_vote: null,
  });
  return idea;
}
