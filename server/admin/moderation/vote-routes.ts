import { DomainError } from '../../domain/domain-error.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { type PersonView, readPeople } from '../../domain/users/read-people.ts';
import { listVotes, presentVote, voteSort } from '../../domain/votes/list-votes.ts';
import { presentIdea } from '../../pages/boards/present-idea.ts';
import { shownName, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { actOnIdea } from './act-on-board.ts';
import { ideaPath, presentPerson, wayToIdea } from './way-back.ts';

const votesPerPage = 50;

/** The page that shows moderators who voted on an idea, and when. */
export const voteRoutes: Route[] = [{ path: '/admin/ideas/:id/votes', show: showVotes }];

type Vote = ReturnType<typeof presentVote>;

function showVotes(visit: Visit) {
  const ideaId = visit.id();
  return actOnIdea(visit, ideaId, async op => {
    const idea = await readIdea(op, ideaId);
    if (!idea) throw new DomainError('not_found');
    const page = await listVotes(op, ideaId, visit.place(voteSort, votesPerPage));
    const votes = page.rows.map(presentVote);
    const userIds = votes.flatMap(({ voter }) => (voter.kind === 'person' && voter.id !== null ? [voter.id] : []));
    const people = await readPeople(op, visit.account.id, userIds);
    const data = {
      idea: presentIdea(idea),
      href: visit.path(ideaPath(ideaId)),
      votes: votes.map(vote => presentLine(visit, ideaId, vote, people)),
      ...visit.pageLinks(`${ideaPath(ideaId)}/votes`, 'cursor', page.nextCursor),
    };
    return visit.page('moderation/votes', t('moderation.votes.title'), data);
  });
}

function presentLine(
  visit: Visit,
  ideaId: number,
  { value, voter, carried_from_id, created_at }: Vote,
  people: Map<number, PersonView>,
) {
  const person = voter.kind === 'person' && voter.id !== null ? people.get(voter.id) : undefined;
  return {
    isUp: value === 'up',
    name: shownName(voter.name),
    // The person who issued the token. Undefined for a vote that a person cast in the browser.
    issuer: voter.issuer ? shownName(voter.issuer.name) : undefined,
    person: presentPerson(visit, person, wayToIdea(ideaId)),
    carriedFrom:
      carried_from_id === null ? undefined : { id: carried_from_id, href: visit.path(ideaPath(carried_from_id)) },
    time: showTime(new Date(created_at)),
  };
}
