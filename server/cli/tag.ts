import type { Command } from 'commander';
import type { Administration } from '../domain/administration.ts';
import { addTag, listTags, removeTag, requireTag, type TagListing, updateTag } from '../domain/tags/edit-tags.ts';
import type { Board } from '../entities/board.ts';
import { administer } from './administer.ts';
import { chooseAccount, chooseBoard } from './choose.ts';
import { accountOption, addVerb, boardOption, given } from './command.ts';
import { formatTable, type OutputOptions, print } from './output.ts';

interface BoardOptions extends OutputOptions {
  account?: string;
  board?: string;
}

interface AddOptions extends BoardOptions {
  name: string;
  color: string;
}

interface UpdateOptions extends BoardOptions {
  name?: string;
  color?: string;
}

export function addTagCommands(program: Command) {
  const noun = program.command('tag').description('the tags of a board');

  addVerb(noun, 'add', 'Adds a tag to a board.', 'tag add --board web-app --name Billing --color "#0f766e"')
    .addOption(accountOption())
    .addOption(boardOption())
    .requiredOption('--name <name>', 'what it is called')
    .requiredOption('--color <color>', 'its color: # and six hexadecimal digits')
    .action(({ name, color, ...options }: AddOptions) =>
      changeTags(options, (admin, board) => addTag(admin, board, { name, color })),
    );

  addVerb(noun, 'list', 'Lists the tags of a board by name.', 'tag list --board web-app')
    .addOption(accountOption())
    .addOption(boardOption())
    .action((options: BoardOptions) => changeTags(options, async () => {}));

  addVerb(
    noun,
    'update <name>',
    'Changes a tag. What is not given stays as it is.',
    'tag update Billing --board web-app --name Payments',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .option('--name <name>', 'another name')
    .option('--color <color>', 'another color')
    .action((current: string, { name, color, ...options }: UpdateOptions) =>
      changeTags(options, async (admin, board) => {
        const tag = await requireTag(admin, board, current);
        await updateTag(admin, tag, given({ name, color }));
      }),
    );

  addVerb(
    noun,
    'remove <name>',
    'Removes a tag, also from every idea that has it.',
    'tag remove Billing --board web-app',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .action((name: string, options: BoardOptions) =>
      changeTags(options, async (admin, board) => removeTag(admin, await requireTag(admin, board, name))),
    );
}

/** Every verb answers with all the tags of the board. */
async function changeTags(
  { account, board: slug, ...output }: BoardOptions,
  change: (admin: Administration, board: Board) => Promise<unknown>,
) {
  const tags = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, account);
    const board = await chooseBoard(admin, accountId, slug);
    await change(admin, board);
    return listTags(admin, board);
  });
  print(output, tags, formatTags);
}

export function formatTags(tags: TagListing[]): string {
  return formatTable(tags, {
    ID: tag => tag.id,
    NAME: tag => tag.name,
    COLOR: tag => tag.color,
    IDEAS: tag => tag.idea_count,
  });
}
