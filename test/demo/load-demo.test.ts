import { expect, test } from 'vitest';
import { readDemoData } from '../../server/demo/demo-data.ts';
import { loadDemo } from '../../server/demo/load-demo.ts';
import { startServerForTest } from '../helpers/server.ts';

test('loadDemo() stores the demo data in an empty database, and a second call adds nothing', async () => {
  const { dependencies, sql } = await startServerForTest();
  const { people, boards } = readDemoData();
  expect(await loadDemo(dependencies)).toMatchObject({ boardSlugs: boards.map(({ slug }) => slug) });

  const stored = await sql(`select u.email, u.name, m.role from users u join memberships m on m.user_id = u.id`);
  expect(inOrder(stored)).toEqual(inOrder(people.map(({ email, name, role }) => ({ email, name, role }))));

  const emails = new Map(people.map(({ key, email }) => [key, email]));
  const storedIdeas = await sql(`
    select b.slug as board, i.title, i.body, u.email as author, s.key as status, i.moderation_state, t.title as merged_into,
      array(
        select tag.name from idea_tags it join tags tag on tag.id = it.tag_id where it.idea_id = i.id order by tag.name
      ) as tags,
      array(
        select cu.email || ': ' || c.body from comments c join users cu on cu.id = c.author_id
        where c.idea_id = i.id order by c.created_at
      ) as comments
    from ideas i
      join boards b on b.id = i.board_id
      join statuses s on s.id = i.status_id
      join users u on u.id = i.author_id
      left join ideas t on t.id = i.merged_into_id`);
  const ideas = boards.flatMap(board =>
    board.ideas.map(idea => ({
      board: board.slug,
      title: idea.title,
      body: idea.body,
      author: emails.get(idea.author),
      status: idea.status,
      moderation_state: idea.pending ? 'pending' : 'published',
      merged_into: idea.mergedInto ?? null,
      tags: idea.tags.toSorted(),
      comments: (idea.comments ?? []).map(({ by, body }) => `${emails.get(by)}: ${body}`),
    })),
  );
  expect(inOrder(storedIdeas)).toEqual(inOrder(ideas));

  expect(await loadDemo(dependencies)).toBeUndefined();
  expect(await sql('select count(*)::int as count from ideas')).toEqual([{ count: ideas.length }]);
});

function inOrder(rows: object[]): string[] {
  return rows.map(row => JSON.stringify(Object.entries(row).toSorted())).toSorted();
}
