// tessera mcp, started and asked by the protocol's own client: in its latest revision, and as
// clients of before begin.

import {Client} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {AjvJsonSchemaValidator} from '@modelcontextprotocol/client/validators/ajv';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';

import {tessera, Workplace} from '../serve/page/workplace.js';

const place = new Workplace();
before(() => {
  place.store(
      'books', {'poem.txt': 'Once upon a midnight dreary, while I pondered, weak and weary.\n'});
  fs.mkdirSync(place.path('certificates'));
});
after(() => place.remove());

// A client of a server with these options, which does `use`. Nothing but messages may stand on
// standard output.
async function connected(mode, use, ...options) {
  const client = new Client({name: 'test', version: '1'}, {versionNegotiation: {mode}});
  const problems = [];
  client.onerror = (error) => problems.push(error.message);
  await client.connect(new StdioClientTransport({
    command: process.env.TESSERA_PROGRAM,
    args: ['mcp', '--store', place.path('books'), ...options]
  }));
  try {
    await use(client);
  } finally {
    await client.close();
  }
  assert.deepEqual(problems, []);
}

const text = (result) => result.content[0].text;

for (const [mode, revision] of [['legacy', '2025-11-25'], ['auto', '2026-07-28']]) {
  test(
      `a document comes, is recited and goes: revision ${revision}`,
      () => connected(mode, async (client) => {
        assert.equal(client.getNegotiatedProtocolVersion(), revision);
        assert.equal(client.getServerVersion().name, 'tessera');
        const ask = async (name, args = {}) => {
          const result = await client.callTool({name, arguments: args});
          assert.ok(!result.isError, text(result));
          assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
          return result.structuredContent;
        };
        assert.equal(
            (await ask('memorize', {
              id: 'raven',
              text: 'The raven sat upon the door and would not go.\n'
            })).outcome,
            'new');
        assert.equal(
            (await ask('recall', {prompt: 'The raven sat upon'})).text,
            ' the door and would not go.\n');
        assert.equal((await ask('search', {words: 'midnight'})).data[0].document, 'poem.txt');
        const {certificate} = await ask('forget', {ids: ['raven'], certificate: `${mode}.json`});
        assert.deepEqual(
            JSON.parse(fs.readFileSync(place.path('certificates', `${mode}.json`))), certificate);
        assert.equal((await ask('verify')).documents, 1);
        const refused = await client.callTool({name: 'show', arguments: {id: 'raven'}});
        assert.ok(refused.isError);
        assert.match(text(refused), /raven/);
        await assert.rejects(
            client.callTool({name: 'burn', arguments: {}}), /there is no tool 'burn'/);
        tessera(
            'memo', 'verify', place.path('books'), '--certificate',
            place.path('certificates', `${mode}.json`));
      }, '--certificates', place.path('certificates')));
}

test(
    'every schema is one, and takes its defaults',
    () => connected('auto', async (client) => {
      const {tools} = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.name), [
        'recall', 'ask', 'find', 'search', 'documents', 'show', 'stat', 'verify', 'memorize',
        'forget'
      ]);
      const validator = new AjvJsonSchemaValidator();
      for (const {name, inputSchema} of tools) {
        const takes = (value) => validator.getValidator(inputSchema)(value).valid;
        const values = {};
        for (const [field, {type, default: value}] of Object.entries(inputSchema.properties))
          values[field] = value ?? {string: 'text', array: ['text']}[type];
        assert.ok(takes(values), name);
        assert.ok(!takes({...values, unknown: 1}), name);
        for (const field of inputSchema.required ?? [])
          assert.ok(!takes({...values, [field]: undefined}), `${name} without ${field}`);
      }
    }));

test(
    'a server that only reads has no tool that edits',
    () => connected('auto', async (client) => {
      const {tools} = await client.listTools();
      assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
      await assert.rejects(
          client.callTool({name: 'forget', arguments: {ids: ['poem.txt']}}), /there is no tool/);
    }, '--read-only'));
