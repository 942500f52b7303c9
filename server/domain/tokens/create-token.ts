import { createHash } from 'node:crypto';
import type { Grant } from '../../../contract/grants.ts';
import { ApiToken } from '../../entities/api-token.ts';
import { ApiTokenBoard } from '../../entities/api-token-board.ts';
import { Voter } from '../../entities/voter.ts';
import type { Administration } from '../administration.ts';
import { formatToken, makeSecret } from './token-text.ts';

export interface NewToken {
  accountId: number;
  issuerId: number;
  name: string;
  boards: { boardId: number; grant: Grant }[];
  expiresAt?: Date | null;
}

/**
 * Creates a token with a voter of its own (Token; Vote). The plaintext is in the answer and nowhere else: the
 * database has the SHA-256 of its secret.
 */
export async function createToken(
  admin: Administration,
  input: NewToken,
): Promise<{ token: ApiToken; plaintext: string }> {
  const voter = admin.em.create(Voter, { accountId: input.accountId });
  await admin.em.flush();
  const secret = makeSecret();
  const token = admin.em.create(ApiToken, {
    accountId: input.accountId,
    issuerId: input.issuerId,
    voterId: voter.id,
    name: input.name,
    secretHash: createHash('sha256').update(secret).digest(),
    expiresAt: input.expiresAt ?? null,
    createdAt: admin.now,
  });
  await admin.em.flush();
  for (const { boardId, grant } of input.boards) {
    admin.em.create(ApiTokenBoard, { tokenId: token.id, boardId, level: grant });
  }
  await admin.em.flush();
  return { token, plaintext: formatToken({ id: token.id, secret }) };
}
