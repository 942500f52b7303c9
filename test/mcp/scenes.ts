import { createHash } from 'node:crypto';
import type { Grant } from '../../contract/grants.ts';

/** The data of one test case: an account with a board. The ids are equal on the two servers that the test compares. */
export interface Scene {
  accountId: number;
  issuerId: number;
  /** The id of another member of the account, who is the author of the comment. */
  otherUserId: number;
  boardId: number;
  boardSlug: string;
  otherBoardId: number;
  tokenId: number;
  token: string;
  ideaId: number;
  targetId: number;
  mergedId: number;
  tagId: number;
  assignedTagId: number;
  spareId: number;
  commentedId: number;
  commentId: number;
  noteId: number;
  webhookId: number;
  spareWebhookId: number;
  deliveryId: number;
}

const secret = 'A'.repeat(43);
const secretHash = createHash('sha256').update(secret).digest('hex');

/** Returns the data of the nth test case. The ids in this data are far above the ids that the database assigns. */
export function sceneOf(n: number): Scene {
  const base = 1_000_000 + n * 10;
  return {
    accountId: base,
    issuerId: base,
    otherUserId: base + 1,
    boardId: base,
    boardSlug: `board-${n}`,
    otherBoardId: base + 1,
    tokenId: base,
    token: `ib_${base}_${secret}`,
    ideaId: base,
    targetId: base + 1,
    mergedId: base + 2,
    tagId: base,
    assignedTagId: base + 1,
    spareId: base,
    commentedId: base,
    commentId: base,
    noteId: base,
    webhookId: base,
    spareWebhookId: base,
    deliveryId: base,
  };
}

/** Returns the SQL that creates the data of test cases. Each id is a number from `base` on, as in sceneOf(). */
export function makeScenes(scenes: { scene: Scene; grant: Grant }[]): string {
  const rows = scenes.map(({ scene, grant }) => `(${scene.accountId}, '${scene.boardSlug}', '${grant}')`);
  // Each statement creates the rows of all test cases. Separate statements would take several seconds.
  const each = `from (values ${rows.join()}) scene (base, slug, level)`;
  return `
    insert into accounts (id, slug, name) overriding system value select base, 'of-' || slug, 'An account' ${each};
    insert into users (id, email, name) overriding system value
    select base, slug || '@example.com', 'Ada' ${each} union all select base + 1, 'other-' || slug || '@example.com', 'Bea' ${each};
    insert into memberships (account_id, user_id, role) select base, base, 'admin' ${each};
    insert into boards (id, account_id, slug, name) overriding system value
    select base, base, slug, 'A board' ${each} union all select base + 1, base, 'other', 'Another' ${each};
    insert into statuses (id, account_id, board_id, key, category, label, position) overriding system value
    select base, base, base, 'open', 'inbox', 'Open', 0 ${each}
    union all select base + 1, base, base, 'planned', 'planned', 'Planned', 1 ${each};
    insert into tags (id, account_id, board_id, name, color) overriding system value
    select base + n, base, base, chr(97 + n), '#0f766e' ${each}, generate_series(0, 1) n;
    insert into voters (id, account_id) overriding system value select base, base ${each};
    insert into api_tokens (id, account_id, issuer_id, voter_id, name, secret_hash, capabilities) overriding system value
    select base, base, base, base, 'A token', '\\x${secretHash}'::bytea, '{manage_webhooks}'::text[] ${each};
    insert into api_token_boards (account_id, token_id, board_id, level) select base, base, base, level ${each};
    insert into ideas (id, account_id, board_id, author_id, status_id, title, body, moderation_state, comment_count)
    overriding system value
    select base + n, base, base, base, base, title, 'About it.', 'published', 1 - n
    ${each}, (values (0, 'The idea'), (1, 'The target')) idea (n, title);
    insert into ideas (id, account_id, board_id, author_id, status_id, title, body, moderation_state, merged_into_id)
    overriding system value
    select base + 2, base, base, base, base, 'Merged', 'About it.', 'published', base + 1 ${each};
    insert into comments (id, account_id, idea_id, author_id, body) overriding system value
    select base, base, base, base + 1, 'The comment' ${each};
    insert into idea_notes (id, account_id, idea_id, author_id, body) overriding system value
    select base, base, base, base + 1, 'The note' ${each};
    insert into merges (account_id, source_id, target_id) select base, base + 2, base + 1 ${each};
    insert into idea_tags (idea_id, tag_id, account_id) select base, base + 1, base ${each};
    insert into webhook_endpoints (id, account_id, board_id, url, secret, event_types) overriding system value
    select base, base, base, 'https://hooks.example.com/', 'sealed', '{idea.unmerged}'::text[] ${each};
    with event as (
      insert into events (account_id, type, data, body, occurred_at)
      select base, 'webhook.test', '{}'::jsonb, '{"type":"webhook.test"}'::jsonb, now() ${each} returning id, account_id
    )
    insert into webhook_deliveries (id, account_id, endpoint_id, event_id, state, finished_at) overriding system value
    select account_id, account_id, account_id, id, 'dead', now() from event;`;
}
