import type { Command } from 'commander';
import type { Administration } from '../domain/administration.ts';
import { requireIdeaOf } from '../domain/notifications/find-idea.ts';
import { followIdea, unfollowIdea } from '../domain/notifications/follow-idea.ts';
import { listFollowers } from '../domain/notifications/list-followers.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, limitOption, parsePositive, userOption } from './command.ts';
import { formatTable, type OutputOptions, print } from './output.ts';

interface AccountOptions extends OutputOptions {
  account?: string;
}

interface FollowerOptions extends AccountOptions {
  user: string;
}

export function addFollowerCommands(program: Command) {
  const noun = program
    .command('follower')
    .description('who is told of what happens to an idea: its author, commenters, and those who follow it');
  const addVerbOnIdea = (verb: string, description: string, example: string) =>
    addVerb(noun, verb, description, example)
      .argument('<id>', 'the id of the idea', parsePositive)
      .addOption(accountOption());

  addVerbOnIdea('list', 'Lists the followers of an idea.', 'follower list 42 --account acme')
    .addOption(limitOption())
    .action(list);

  addVerbOnIdea('add', 'Lets a member follow an idea.', 'follower add 42 --user grace@example.com')
    .addOption(userOption())
    .action(add);

  addVerbOnIdea('remove', 'Ends that a user follows an idea.', 'follower remove 42 --user grace@example.com')
    .addOption(userOption())
    .action(remove);
}

async function list(ideaId: number, { account, limit, ...output }: AccountOptions & { limit: number }) {
  const followers = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, account);
    return listFollowers(admin, accountId, ideaId, limit);
  });
  print(output, followers, rows =>
    formatTable(rows, {
      EMAIL: follower => follower.email,
      NAME: follower => follower.name,
      'NOTIFICATIONS TO': follower => follower.notification_email,
      SINCE: follower => follower.created_at,
    }),
  );
}

async function add(ideaId: number, options: FollowerOptions) {
  await setFollowing(ideaId, options, true, (admin, accountId, userId) =>
    followIdea(admin, accountId, { ideaId, userId }),
  );
}

async function remove(ideaId: number, options: FollowerOptions) {
  await setFollowing(ideaId, options, false, async (admin, accountId, userId) => {
    await requireIdeaOf(admin, accountId, ideaId);
    return unfollowIdea(admin, { ideaId, userId });
  });
}

async function setFollowing(
  ideaId: number,
  { account, user: email, ...output }: FollowerOptions,
  isFollowing: boolean,
  set: (admin: Administration, accountId: number, userId: number) => Promise<boolean>,
) {
  const isChanged = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, account);
    const user = await requireUser(admin, email);
    return set(admin, accountId, user.id);
  });
  const view = { idea_id: ideaId, is_following: isFollowing, is_changed: isChanged };
  print(output, view, () => {
    const state = isFollowing ? 'follows' : 'does not follow';
    return `${email} ${state} idea ${ideaId}${isChanged ? ' now' : ', as before'}.`;
  });
}
