/** A command for VoteModel. The model stores only direct votes and merges, and computes all tallies from these. */
export type Command =
  | { kind: 'vote'; voter: number; idea: number; value: VoteWord }
  | { kind: 'merge'; idea: number; target: number }
  | { kind: 'unmerge'; idea: number };

export type VoteWord = 'up' | 'down' | 'none';

/** The state of an idea as one voter sees it. */
export interface IdeaState {
  up_count: number;
  down_count: number;
  merged_into: number | null;
  my_vote: VoteWord;
}

export type Outcome =
  | { status: 200; tally: { up_count: number; down_count: number; my_vote: VoteWord } }
  | { status: 200; idea: IdeaState; target: IdeaState | null }
  | { status: 404 | 422; key: string };

export class VoteModel {
  readonly ideas: number;
  readonly voters: number;
  /**
   * The direct votes on each idea, by voter. The value 'none' stands for a vote that was withdrawn while the idea was
   * the target of a merge.
   */
  private readonly own: Map<number, VoteWord>[];
  /** The merges that have not been undone, oldest first. */
  private merges: { source: number; target: number }[] = [];

  constructor(ideas: number, voters: number) {
    this.ideas = ideas;
    this.voters = voters;
    this.own = Array.from({ length: ideas }, () => new Map());
  }

  copy(): VoteModel {
    const copy = new VoteModel(this.ideas, this.voters);
    for (const [idea, votes] of this.own.entries()) {
      for (const [voter, value] of votes) copy.ownOf(idea).set(voter, value);
    }
    copy.merges = [...this.merges];
    return copy;
  }

  /**
   * Runs a command. Returns the result as the moderator sees it. The argument `moderator` is the number of the voter
   * who is the moderator.
   */
  run(command: Command, moderator: number): Outcome {
    if (command.kind === 'vote') return this.vote(command.idea, command.voter, command.value);
    if (command.kind === 'merge') return this.merge(command.idea, command.target, moderator);
    return this.unmerge(command.idea, moderator);
  }

  state(idea: number, voter: number): IdeaState {
    return { ...this.tally(idea), merged_into: this.mergedInto(idea), my_vote: this.voteOf(idea, voter) };
  }

  private vote(idea: number, voter: number, value: VoteWord): Outcome {
    if (this.mergedInto(idea) !== null) return { status: 404, key: 'not_found' };
    if (value !== 'none') this.ownOf(idea).set(voter, value);
    else if (this.sourcesOf(idea).length === 0) this.ownOf(idea).delete(voter);
    else if (this.ownOf(idea).has(voter) || this.voteOf(idea, voter) !== 'none') this.ownOf(idea).set(voter, 'none');
    return { status: 200, tally: { ...this.tally(idea), my_vote: value } };
  }

  private merge(idea: number, target: number, moderator: number): Outcome {
    if (idea === target) return { status: 422, key: 'merge_into_self' };
    const mergedInto = this.mergedInto(idea);
    if (mergedInto !== target) {
      if (mergedInto !== null || this.mergedInto(target) !== null) return { status: 422, key: 'idea_already_merged' };
      this.merges.push({ source: idea, target });
    }
    return { status: 200, idea: this.state(idea, moderator), target: this.state(target, moderator) };
  }

  private unmerge(idea: number, moderator: number): Outcome {
    const target = this.mergedInto(idea);
    if (target === null) return { status: 200, idea: this.state(idea, moderator), target: null };
    this.merges = this.merges.filter(({ source }) => source !== idea);
    // If no idea is merged into the target any more, a withdrawn vote on the target overrides no other vote. So the
    // withdrawn vote is removed.
    if (this.sourcesOf(target).length === 0) {
      for (const [voter, value] of this.ownOf(target)) if (value === 'none') this.ownOf(target).delete(voter);
    }
    return { status: 200, idea: this.state(idea, moderator), target: this.state(target, moderator) };
  }

  /**
   * Returns the voter's vote that counts on the idea. A direct vote on the idea has precedence, even if it was
   * withdrawn. Without a direct vote, the voter's vote on the idea that was merged first counts.
   */
  private voteOf(idea: number, voter: number): VoteWord {
    const own = this.ownOf(idea).get(voter);
    if (own !== undefined) return own;
    for (const source of this.sourcesOf(idea)) {
      const carried = this.voteOf(source, voter);
      if (carried !== 'none') return carried;
    }
    return 'none';
  }

  private tally(idea: number) {
    const votes = Array.from({ length: this.voters }, (_, voter) => this.voteOf(idea, voter));
    return {
      up_count: votes.filter(value => value === 'up').length,
      down_count: votes.filter(value => value === 'down').length,
    };
  }

  private mergedInto(idea: number): number | null {
    return this.merges.find(({ source }) => source === idea)?.target ?? null;
  }

  private sourcesOf(idea: number): number[] {
    return this.merges.filter(({ target }) => target === idea).map(({ source }) => source);
  }

  private ownOf(idea: number): Map<number, VoteWord> {
    const votes = this.own[idea];
    if (!votes) throw new Error(`The model has no idea ${idea}`);
    return votes;
  }
}
