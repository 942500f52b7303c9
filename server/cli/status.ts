import { type Command, Option } from 'commander';
import { type StatusCategory, statusCategories } from '../../contract/status.ts';
import type { Administration } from '../domain/administration.ts';
import { addStatus, removeStatus, requireStatus, updateStatus } from '../domain/statuses/edit-statuses.ts';
import { listStatuses, type StatusListing } from '../domain/statuses/list-statuses.ts';
import type { Board } from '../entities/board.ts';
import { administer } from './administer.ts';
import { chooseAccount, chooseBoard } from './choose.ts';
import { accountOption, addVerb, boardOption, given, parseBoolean, parsePositive } from './command.ts';
import { formatTable, type OutputOptions, print } from './output.ts';

interface BoardOptions extends OutputOptions {
  account?: string;
  board?: string;
}

interface UpdateOptions extends BoardOptions {
  key?: string;
  category?: StatusCategory;
  label?: string;
  hidden?: boolean;
  allowVotes?: boolean;
  allowComments?: boolean;
  position?: number;
}

interface AddOptions extends UpdateOptions {
  key: string;
  category: StatusCategory;
  label: string;
}

const categoryOption = () => new Option('--category <category>', 'what it counts as').choices(statusCategories);

export function addStatusCommands(program: Command) {
  const noun = program.command('status').description('the status registry of a board: where ideas can stand');

  const add = addVerb(
    noun,
    'add',
    'Adds a status to the registry of a board.',
    'status add --board web-app --key in_review --category active --label "In review" --position 3',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .requiredOption('--key <key>', 'its value in the API: lower-case letters, digits, hyphens and underscores')
    .addOption(categoryOption().makeOptionMandatory())
    .requiredOption('--label <label>', 'what people read');
  addProperties(add).action(runAdd);

  addVerb(noun, 'list', 'Lists the status registry of a board, in its order.', 'status list --board web-app')
    .addOption(accountOption())
    .addOption(boardOption())
    .action(list);

  const update = addVerb(
    noun,
    'update <key>',
    'Changes a status; the ideas in it follow. What is not given stays as it is.',
    'status update done --board web-app --label "Shipped" --allow-votes false',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .option('--key <key>', 'another key; clients of the API have to use it, too')
    .addOption(categoryOption())
    .option('--label <label>', 'another label');
  addProperties(update).action(runUpdate);

  addVerb(
    noun,
    'remove <key>',
    'Removes a status that no idea has. The last one of the category inbox stays: new ideas start there.',
    'status remove in_review --board web-app',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .action(remove);
}

function addProperties(command: Command): Command {
  return command
    .option('--hidden <true|false>', 'leave its ideas out of lists that do not ask for them', parseBoolean)
    .option('--allow-votes <true|false>', 'whether its ideas can be voted on', parseBoolean)
    .option('--allow-comments <true|false>', 'whether its ideas can be commented on', parseBoolean)
    .option('--position <number>', 'its place in the registry, from 1', parsePositive);
}

async function runAdd({ key, category, label, ...options }: AddOptions) {
  await changeRegistry(options, (admin, board) =>
    addStatus(admin, board, { key, category, label, ...propertiesOf(options) }),
  );
}

async function list(options: BoardOptions) {
  await changeRegistry(options, async () => {});
}

async function runUpdate(current: string, { key, category, label, ...options }: UpdateOptions) {
  await changeRegistry(options, async (admin, board) => {
    const status = await requireStatus(admin, board, current);
    await updateStatus(admin, status, { ...given({ key, category, label }), ...propertiesOf(options) });
  });
}

async function remove(key: string, options: BoardOptions) {
  await changeRegistry(options, async (admin, board) => {
    await removeStatus(admin, await requireStatus(admin, board, key));
  });
}

function propertiesOf({ hidden: isHidden, allowVotes, allowComments, position }: UpdateOptions) {
  return given({ isHidden, allowVotes, allowComments, position });
}

/** Every verb answers with the whole registry: a change of one moves others. */
async function changeRegistry(
  { account, board: slug, json }: BoardOptions,
  change: (admin: Administration, board: Board) => Promise<unknown>,
) {
  const statuses = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, account);
    const board = await chooseBoard(admin, accountId, slug);
    await change(admin, board);
    return listStatuses(admin, board);
  });
  print(given({ json }), statuses, formatStatuses);
}

export function formatStatuses(statuses: StatusListing[]): string {
  return formatTable(statuses, {
    '#': status => status.position,
    KEY: status => status.key,
    CATEGORY: status => status.category,
    LABEL: status => status.label,
    HIDDEN: status => status.is_hidden,
    VOTES: status => status.allow_votes,
    COMMENTS: status => status.allow_comments,
  });
}
