import { describe, expect, it } from 'vitest';
import { type DemoBoard, readDemoData } from '../../server/demo/demo-data.ts';

const DEFAULT_STATUS_KEYS = ['open', 'planned', 'in_progress', 'done', 'declined', 'archived'];
const CATEGORIES = ['inbox', 'planned', 'active', 'completed', 'declined', 'archived'];

const length = (text: string): number => [...text].length;
const repeated = (values: string[]): string[] => values.filter((value, index) => values.indexOf(value) !== index);
const statusKeys = (board: DemoBoard): string[] =>
  board.statuses === 'default' ? DEFAULT_STATUS_KEYS : board.statuses.map(status => status.key);

const demoData = readDemoData();
const personKeys = demoData.people.map(person => person.key);
const allIdeas = demoData.boards.flatMap(board => board.ideas);

describe('the demo people', () => {
  it('the demo data has people with every role, and exactly one owner', () => {
    const count = (role: string) => demoData.people.filter(person => person.role === role).length;
    expect(count('owner')).toBe(1);
    expect(count('admin')).toBe(1);
    expect(count('moderator')).toBe(2);
    expect(count('member')).toBeGreaterThanOrEqual(10);
  });

  it('all people of the demo data have different keys and different e-mail addresses on example domains', () => {
    expect(repeated(personKeys)).toEqual([]);
    expect(repeated(demoData.people.map(person => person.email))).toEqual([]);
    for (const person of demoData.people) {
      expect(person.email).toMatch(/^[a-z0-9.]+@example\.(com|org)$/);
    }
  });
});

describe('the demo boards', () => {
  it('the demo data has two boards with 190 to 220 ideas in total', () => {
    expect(demoData.boards).toHaveLength(2);
    expect(repeated(demoData.boards.map(board => board.slug))).toEqual([]);
    expect(allIdeas.length).toBeGreaterThanOrEqual(190);
    expect(allIdeas.length).toBeLessThanOrEqual(220);
  });

  it('no two ideas of the demo data have the same text, and no two comments are equal', () => {
    expect(repeated(allIdeas.map(idea => idea.body))).toEqual([]);
    const comments = allIdeas.flatMap(idea => idea.comments ?? []);
    expect(repeated(comments.map(comment => comment.body))).toEqual([]);
  });

  it('the demo data has 6 to 10 merged ideas, and about a third of the ideas have comments', () => {
    const merged = allIdeas.filter(idea => idea.mergedInto !== undefined);
    expect(merged.length).toBeGreaterThanOrEqual(6);
    expect(merged.length).toBeLessThanOrEqual(10);
    const share = allIdeas.filter(idea => idea.comments).length / allIdeas.length;
    expect(share).toBeGreaterThan(0.27);
    expect(share).toBeLessThan(0.4);
  });

  it('the demo data has custom statuses of every category, including a hidden status, a status closed for votes, and a status closed for comments', () => {
    const statuses = demoData.boards.flatMap(board => (board.statuses === 'default' ? [] : board.statuses));
    expect([...new Set(statuses.map(status => status.category))].sort()).toEqual([...CATEGORIES].sort());
    expect(statuses.some(status => status.isHidden)).toBe(true);
    expect(statuses.some(status => status.category === 'completed' && status.allowVotes === false)).toBe(true);
    expect(statuses.some(status => status.allowComments === false)).toBe(true);
  });

  describe.each(demoData.boards)('the demo board $name', board => {
    const titles = board.ideas.map(idea => idea.title);
    const tagNames = board.tags.map(tag => tag.name);

    it('the tags and statuses of a demo board are valid, and at least one idea uses each of them', () => {
      expect(board.slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(tagNames.length).toBeGreaterThanOrEqual(6);
      expect(tagNames.length).toBeLessThanOrEqual(8);
      expect(repeated(tagNames.map(name => name.toLowerCase()))).toEqual([]);
      for (const tag of board.tags) expect(tag.color).toMatch(/^#[0-9a-f]{6}$/);
      for (const key of statusKeys(board)) expect(key).toMatch(/^[a-z][a-z_]*$/);
      expect(repeated(statusKeys(board))).toEqual([]);

      const usedTags = new Set(board.ideas.flatMap(idea => idea.tags));
      expect(tagNames.filter(name => !usedTags.has(name))).toEqual([]);
      const usedStatuses = new Set(board.ideas.map(idea => idea.status));
      expect(statusKeys(board).filter(key => !usedStatuses.has(key))).toEqual([]);
    });

    it('no two ideas of a demo board have the same title', () => {
      expect(repeated(titles.map(title => title.toLowerCase()))).toEqual([]);
    });

    it('a demo board has new ideas and ideas that are more than a year old, and has both popular and unpopular ideas', () => {
      const days = board.ideas.map(idea => idea.daysAgo);
      expect(Math.min(...days)).toBeLessThan(5);
      expect(Math.max(...days)).toBeGreaterThan(365);
      expect(Math.max(...days)).toBeLessThanOrEqual(420);
      const popularity = board.ideas.map(idea => idea.popularity);
      expect(popularity.some(share => share > 0.9)).toBe(true);
      expect(popularity.filter(share => share < 0.25).length).toBeGreaterThan(10);
    });

    it.each(board.ideas)('the demo idea "$title" has a valid text, author, status, merge target and comments', idea => {
      expect(idea.title.trim()).toBe(idea.title);
      expect(length(idea.title)).toBeGreaterThanOrEqual(1);
      expect(length(idea.title)).toBeLessThanOrEqual(200);
      expect(idea.body.trim()).toBe(idea.body);
      expect(length(idea.body)).toBeGreaterThanOrEqual(1);
      expect(length(idea.body)).toBeLessThanOrEqual(2000);

      expect(personKeys).toContain(idea.author);
      expect(statusKeys(board)).toContain(idea.status);
      for (const tag of idea.tags) expect(tagNames).toContain(tag);
      expect(repeated(idea.tags)).toEqual([]);

      expect(Number.isInteger(idea.daysAgo)).toBe(true);
      expect(idea.daysAgo).toBeGreaterThanOrEqual(0);
      expect(idea.popularity).toBeGreaterThanOrEqual(0);
      expect(idea.popularity).toBeLessThanOrEqual(1);

      if (idea.pending) {
        expect(board.preModeration).toBe(true);
        expect(idea.status).toBe(statusKeys(board)[0]);
        expect(idea.comments).toBeUndefined();
        expect(idea.mergedInto).toBeUndefined();
        expect(idea.popularity).toBe(0);
      }

      if (idea.mergedInto !== undefined) {
        expect(idea.mergedInto).not.toBe(idea.title);
        const target = board.ideas.find(other => other.title === idea.mergedInto);
        expect(target).toBeDefined();
        expect(target?.mergedInto).toBeUndefined();
        expect(target?.pending).toBeUndefined();
        // Readers must be able to see the target idea of a merge, so its status must not be hidden.
        const status =
          board.statuses === 'default' ? undefined : board.statuses.find(candidate => candidate.key === target?.status);
        expect(status?.isHidden ?? false).toBe(false);
        expect(idea.comments).toBeUndefined();
      }

      const status =
        board.statuses === 'default' ? undefined : board.statuses.find(candidate => candidate.key === idea.status);
      if (status?.allowComments === false) expect(idea.comments).toBeUndefined();

      const comments = idea.comments ?? [];
      if (idea.comments) expect(comments.length).toBeGreaterThanOrEqual(1);
      expect(comments.length).toBeLessThanOrEqual(4);
      comments.forEach((comment, index) => {
        expect(personKeys).toContain(comment.by);
        expect(comment.body.trim()).toBe(comment.body);
        expect(length(comment.body)).toBeGreaterThanOrEqual(1);
        expect(length(comment.body)).toBeLessThanOrEqual(500);
        if (index > 0) expect(comment.by).not.toBe(comments[index - 1]?.by);
      });
    });

    it('a demo board with pre-moderation has 5 to 7 pending ideas, and a demo board without pre-moderation has none', () => {
      const pending = board.ideas.filter(idea => idea.pending).length;
      if (board.preModeration) {
        expect(pending).toBeGreaterThanOrEqual(5);
        expect(pending).toBeLessThanOrEqual(7);
      } else {
        expect(pending).toBe(0);
      }
    });
  });
});
