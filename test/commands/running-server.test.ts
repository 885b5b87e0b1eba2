import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { findServer, noteServer } from '../../src/commands/server/running-server.ts'
import { makeProject } from '../support/temp-project.ts'

const ADDRESS = 'http://127.0.0.1:9001'
const NOTE = 'debug/server.json'
const DRAFT = `${NOTE}.${process.pid}.tmp`

describe('the note of a development server', () => {
  const home = process.cwd()

  async function enter(files: Readonly<Record<string, string>> = {}): Promise<void> {
    const { dir } = await makeProject(files)
    process.chdir(dir)
  }

  afterEach(() => process.chdir(home))

  it('is found where there was no folder for it, which others cannot read', async () => {
    await enter()
    expect(findServer()).to.equal(undefined)
    noteServer(ADDRESS)
    expect(findServer()).to.equal(ADDRESS)
    if (process.platform !== 'win32') expect(statSync('debug').mode & 0o077).to.equal(0)
  })

  for (const [what, place] of [
    ['a link', NOTE],
    ['a link in the place of its draft', DRAFT],
  ] as const) {
    it(`replaces ${what}, and writes nothing where that leads`, async () => {
      await enter({ 'debug/kept.txt': 'kept' })
      symlinkSync('kept.txt', place)
      noteServer(ADDRESS)
      expect(readFileSync('debug/kept.txt', 'utf8')).to.equal('kept')
      expect([findServer(), lstatSync(NOTE).isFile()]).to.deep.equal([ADDRESS, true])
    })
  }

  it('is read neither through a link, nor half written, nor after its process', async () => {
    await enter()
    noteServer(ADDRESS)
    const note = JSON.parse(readFileSync(NOTE, 'utf8'))
    const ended = note.process.replace(/ \d+ .*/, ' 4194304 1')
    for (const text of [JSON.stringify(note).slice(0, -9), JSON.stringify({ url: ADDRESS, process: ended })]) {
      writeFileSync(NOTE, text)
      expect(findServer()).to.equal(undefined)
    }
    for (const text of ['null', '{}', '{"url":7,"process":"x"}', '{"url":"x","process":"x"}']) {
      writeFileSync(NOTE, text)
      expect(findServer()).to.equal(undefined)
    }
    await enter({ 'debug/linked.json': JSON.stringify(note) })
    symlinkSync('linked.json', NOTE)
    expect(findServer()).to.equal(undefined)
  })

  it('leads to no other machine, unless it is of this one: a project of others may bring it, and commands send their key', async () => {
    await enter()
    noteServer('http://10.0.0.7:9001')
    expect(findServer()).to.equal('http://10.0.0.7:9001')
    for (const url of ['https://evil.example', 'http://10.0.0.7:9001', ADDRESS]) {
      writeFileSync(NOTE, JSON.stringify({ url, process: 'another-machine 1 1' }))
      // The port of a container is one of this machine.
      expect(findServer()).to.equal(url === ADDRESS ? ADDRESS : undefined)
    }
  })
})
