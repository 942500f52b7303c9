import { listPendingIdeas } from '../domain/moderation/list-submissions.ts';
import { approveIdea, rejectIdea } from '../domain/moderation/moderate-idea.ts';
import { requireIdeaOf } from '../domain/notifications/find-idea.ts';
import { followIdea, unfollowIdea } from '../domain/notifications/follow-idea.ts';
import { listFollowers } from '../domain/notifications/list-followers.ts';
import { chooseAccount, chooseFilter, chooseMember, inAccount, ofUser } from './choose.ts';
import { argument, limit, noun, operation, optional, parsePositive, required } from './command.ts';
import { formatTable, shorten } from './output.ts';

const onIdea = { id: argument('<id>', 'the id of the idea', parsePositive), ...inAccount };

export const addIdeaCommands = noun('idea', 'the approval queue of boards with pre-moderation', {
  pending: operation({
    description: 'Lists the ideas that await approval; who has waited longest stands first.',
    examples: ['idea pending --account acme'],
    input: { ...inAccount, board: optional('<slug>', 'only this board'), limit },
    async run(admin, { limit, ...named }) {
      const { accountId, boardId } = await chooseFilter(admin, named);
      return listPendingIdeas(admin, accountId, boardId, limit);
    },
    text: rows =>
      formatTable(rows, 'id', 'board', ['title', idea => shorten(idea.title)], 'author', ['submitted', 'created_at']),
  }),
  approve: operation({
    description: 'Publishes an idea that awaits approval.',
    examples: ['idea approve 42 --account acme'],
    input: onIdea,
    async run(admin, { id, account }) {
      const is_changed = await approveIdea(admin, (await chooseAccount(admin, account)).id, id);
      return { id, moderation_state: 'published', is_changed };
    },
    text: formatModerated,
  }),
  reject: operation({
    description: 'Rejects an idea that awaits approval.',
    examples: ['idea reject 42 --account acme --reason "Spam"'],
    input: { ...onIdea, reason: required('<text>', 'why, for the author') },
    async run(admin, { id, account, reason }) {
      const is_changed = await rejectIdea(admin, (await chooseAccount(admin, account)).id, id, reason);
      return { id, moderation_state: 'rejected', is_changed };
    },
    text: formatModerated,
  }),
});

function formatModerated(idea: { id: number; moderation_state: string; is_changed: boolean }): string {
  const { id, moderation_state: state, is_changed } = idea;
  return is_changed ? `Idea ${id} is ${state}.` : `Idea ${id} was ${state} already.`;
}

export const addFollowerCommands = noun(
  'follower',
  'who is told of what happens to an idea: its author, commenters, and those who follow it',
  {
    list: operation({
      description: 'Lists the followers of an idea.',
      examples: ['follower list 42 --account acme'],
      input: { ...onIdea, limit },
      run: async (admin, { id, account, limit }) =>
        listFollowers(admin, (await chooseAccount(admin, account)).id, id, limit),
      text: rows =>
        formatTable(rows, 'email', 'name', ['notifications to', 'notification_email'], ['since', 'created_at']),
    }),
    add: operation({
      description: 'Lets a member follow an idea.',
      examples: ['follower add 42 --user grace@example.com'],
      input: { ...onIdea, ...ofUser },
      async run(admin, { id: ideaId, ...named }) {
        const { accountId, userId } = await chooseMember(admin, named);
        return {
          idea_id: ideaId,
          is_following: true,
          is_changed: await followIdea(admin, accountId, { ideaId, userId }),
        };
      },
      text: (result, { user }) => formatFollowing(user, 'follows', result),
    }),
    remove: operation({
      description: 'Ends that a user follows an idea.',
      examples: ['follower remove 42 --user grace@example.com'],
      input: { ...onIdea, ...ofUser },
      async run(admin, { id: ideaId, ...named }) {
        const { accountId, userId } = await chooseMember(admin, named);
        await requireIdeaOf(admin, accountId, ideaId);
        return { idea_id: ideaId, is_following: false, is_changed: await unfollowIdea(admin, { ideaId, userId }) };
      },
      text: (result, { user }) => formatFollowing(user, 'does not follow', result),
    }),
  },
);

function formatFollowing(
  user: string,
  does: string,
  { idea_id, is_changed }: { idea_id: number; is_changed: boolean },
) {
  return `${user} ${does} idea ${idea_id}${is_changed ? ' now' : ', as before'}.`;
}
