import { type Authenticator, enrol } from '../admin/authenticator.ts';
import { givePassword, type Person, Visitor } from '../admin/visitor.ts';
import { createUser } from '../helpers/fixtures.ts';
import type { TestServer } from '../helpers/server.ts';

/** An operator who is signed in with two factors. */
export interface Operator extends Person {
  id: number;
  visitor: Visitor;
  app: Authenticator;
}

/** Makes a user an operator in the only possible way: with SQL. */
export async function makeOperator({ sql }: TestServer, userId: number) {
  await sql('update users set is_operator = true where id = $1', [userId]);
}

/** Creates an operator who is in no account, signs them in, and turns on two-factor sign-in. */
export async function signInOperator(server: TestServer): Promise<Operator> {
  const id = await createUser(server, 'Olga');
  await makeOperator(server, id);
  const person = await givePassword(server, id);
  const visitor = new Visitor(server);
  await visitor.signIn(person.email, person.password);
  const app = await enrol(visitor, person.password, server.dependencies.clock);
  return { id, visitor, app, ...person };
}
