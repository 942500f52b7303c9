import { listPendingIdeas } from '../domain/moderation/list-submissions.ts';
import { approveIdea, rejectIdea } from '../domain/moderation/moderate-idea.ts';
import { followIdea, listFollowers, requireIdeaOf, unfollowIdea } from '../domain/notifications/followers.ts';
import { onAccount, onBoards, onMember } from './choose.ts';
import { argument, limit, noun, parsePositive, required } from './command.ts';
import { formatTable, shorten } from './output.ts';

const onIdea = { id: argument('<id>', 'the id of the idea', parsePositive) };

export const addIdeaCommands = noun('idea', 'the approval queue of boards with pre-moderation', {
  pending: onBoards.operation({
    description: 'Lists the ideas that await approval, oldest first.',
    examples: ['idea pending --account acme'],
    input: { limit },
    run: (admin, { accountId, boardId }, { limit }) => listPendingIdeas(admin, accountId, boardId, limit),
    text: rows =>
      formatTable(rows, 'id', 'board', ['title', idea => shorten(idea.title)], 'author', ['submitted', 'created_at']),
  }),
  approve: onAccount.operation({
    description: 'Publishes an idea that awaits approval.',
    examples: ['idea approve 42 --account acme'],
    input: onIdea,
    async run(admin, { id: accountId }, { id }) {
      const is_changed = await approveIdea(admin, accountId, id);
      return { id, moderation_state: 'published', is_changed };
    },
    text: formatModerated,
  }),
  reject: onAccount.operation({
    description: 'Rejects an idea that awaits approval.',
    examples: ['idea reject 42 --account acme --reason "Spam"'],
    input: { ...onIdea, reason: required('<text>', 'the reason, for the author') },
    async run(admin, { id: accountId }, { id, reason }) {
      const is_changed = await rejectIdea(admin, accountId, id, reason);
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
  'the followers of an idea, who get its notifications: the author, commenters and others',
  {
    list: onAccount.operation({
      description: 'Lists the followers of an idea.',
      examples: ['follower list 42 --account acme'],
      input: { ...onIdea, limit },
      run: (admin, { id: accountId }, { id, limit }) => listFollowers(admin, accountId, id, limit),
      text: rows =>
        formatTable(rows, 'email', 'name', ['notifications to', 'notification_email'], ['since', 'created_at']),
    }),
    add: onMember.operation({
      description: 'Makes a member follow an idea.',
      examples: ['follower add 42 --user grace@example.com'],
      input: onIdea,
      async run(admin, { accountId, userId }, { id: ideaId }) {
        const is_changed = await followIdea(admin, accountId, { ideaId, userId });
        return { idea_id: ideaId, is_following: true, is_changed };
      },
      text: (result, { user }) => formatFollowing(user, 'follows', result),
    }),
    remove: onMember.operation({
      description: 'Makes a user unfollow an idea.',
      examples: ['follower remove 42 --user grace@example.com'],
      input: onIdea,
      async run(admin, { accountId, userId }, { id: ideaId }) {
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
