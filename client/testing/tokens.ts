import { randomBytes } from 'node:crypto';
import type { Author, Board, Token } from '@idea-board/client';
import { buckets, type Capability, type Grant, Token as TokenSchema } from '@idea-board/contract';
import { exampleOf } from './example.ts';

const example = TokenSchema.parse(exampleOf(TokenSchema));

/** All tokens of the test server have this name. */
export const tokenName = example.name;

/** A token of the test server. Each token is a separate voter. */
export interface TestToken {
  id: number;
  grant: Grant;
  capabilities: readonly Capability[];
  /** The user who issued the token. */
  user: Author;
}

/** The tokens of a test server. Each token gives access to the only board of the server. */
export class Tokens {
  /** The user who issues tokens by default. */
  readonly owner: Author = example.issuer;
  readonly #board: Board;
  readonly #tokens = new Map<string, TestToken>();
  readonly #users = new Map([[example.issuer.name, example.issuer]]);

  constructor(board: Board) {
    this.#board = board;
  }

  issue(grant: Grant, userName = this.owner.name, capabilities: readonly Capability[] = []): string {
    const user = this.#users.get(userName) ?? { id: this.owner.id + this.#users.size, name: userName };
    this.#users.set(userName, user);
    const id = this.#tokens.size + 1;
    const text = `ib_${id}_${randomBytes(32).toString('base64url')}`;
    this.#tokens.set(text, { id, grant, capabilities, user });
    return text;
  }

  find(authorization: string | undefined): TestToken | undefined {
    return this.#tokens.get(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '');
  }

  /** Returns a token as the API describes it. */
  describe({ id, grant, capabilities, user }: TestToken): Token {
    const { id: boardId, slug, name } = this.#board;
    const full = ({ limit, windowSeconds }: (typeof buckets)[keyof typeof buckets]) => {
      return { limit, remaining: limit, reset: windowSeconds };
    };
    return {
      ...example,
      id,
      issuer: user,
      boards: [{ id: boardId, slug, name, grant, is_moderate_effective: grant === 'moderate' }],
      capabilities: [...capabilities],
      buckets: { 'apitoken:read': full(buckets['apitoken:read']), 'apitoken:write': full(buckets['apitoken:write']) },
    };
  }
}
