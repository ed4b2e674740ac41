import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WaitingClient, WaitingClients } from './waiting-clients.ts';

class Client extends WaitingClient {
  readonly name: number;
  readonly log: number[];
  mayGo = true;
  waitsSinceMs = 0;

  constructor(name: number, log: number[]) {
    super();
    this.name = name;
    this.log = log;
  }

  giveWay(): boolean {
    this.log.push(this.name);
    return this.mayGo;
  }
}

const client = fc.nat({ max: 6 });
const steps = fc.array(
  fc.oneof(fc.tuple(fc.constantFrom('add', 'delete', 'stay', 'go'), client), fc.tuple(fc.constant('room'))),
  { maxLength: 60 },
);

it('agrees with an array: the longest idle client first, and clients that cannot close move to the end', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const asked: number[] = [];
      const clients = Array.from({ length: 7 }, (_, name) => new Client(name, asked));
      const list = new WaitingClients();
      let twin: number[] = [];
      const twinAsked: number[] = [];
      for (const [what, name] of all) {
        const one = name === undefined ? undefined : clients[name];
        if (one === undefined) {
          let made = false;
          for (let turn = 0; turn < 16 && twin.length > 0 && !made; turn++) {
            const first = twin.shift() as number;
            twinAsked.push(first);
            made = clients[first]?.mayGo === true;
            if (!made) twin.push(first);
          }
          expect(list.makeRoom()).toBe(made);
          expect(asked).toEqual(twinAsked);
          continue;
        }
        if (what === 'stay' || what === 'go') one.mayGo = what === 'go';
        else if (what === 'add') list.add(one);
        else list.delete(one);
        if (what === 'add' || what === 'delete') twin = twin.filter((each) => each !== one.name);
        if (what === 'add') twin.push(one.name);
      }
    }),
  );
});

it('clients that have just begun to wait can be left alone', () => {
  const log: number[] = [];
  const list = new WaitingClients();
  const [old, young] = [new Client(1, log), new Client(2, log)];
  young.waitsSinceMs = 900;
  list.add(old);
  list.add(young);
  expect([list.makeRoom(500), list.makeRoom(500), list.makeRoom()]).toEqual([true, false, true]);
  expect(log).toEqual([1, 2]);
});
