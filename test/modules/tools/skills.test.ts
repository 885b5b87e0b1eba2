import { execFile } from 'node:child_process'
import { symlink, truncate, writeFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import { loadSkills } from '../../../modules/tools/lib/skills/skill-folder.ts'
import skills from '../../../modules/tools/skills.ts'
import { messageOf } from '../../../src/errors.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { takeTurns } from '../../support/take-turns.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const skill = (name: string, text = 'Do it.', more = '') =>
  `---\nname: ${name}\ndescription: How to do ${name}.\n${more}---\n\n${text}\n`

const FILES = {
  'skills/refunds/SKILL.md': skill('refunds', '# Refunds\n\nSee [the form](forms/form.md).', 'license: MIT\n'),
  'skills/refunds/forms/form.md': 'Name: ____',
  'skills/refunds/scripts/pay.sh': 'touch ran',
  'skills/greeting/SKILL.md': skill('greeting', 'Say hello.'),
  'skills/readme.md': 'These are skills.',
}

async function open(project: TempProject, config: object = {}) {
  const watched: string[] = []
  const context = makeContext({ projectDir: project.dir, watchFile: (path) => void watched.push(path) })
  const checked = Value.Parse(skills.config, Value.Default(skills.config, config))
  const provider = await skills.create({}, checked, context)
  const call = async (name: string, args: Record<string, unknown>) => provider.executeTool(name, args, makeRun())
  return { provider, watched, call }
}

const problemOf = async (files: Record<string, string>, prepare?: (project: TempProject) => Promise<unknown>) => {
  const project = await makeProject(files)
  await prepare?.(project)
  return open(project).then(
    () => 'It was loaded.',
    (error: Error) => error.message,
  )
}

describe('tools/skills', () => {
  it('names and describes its skills in the description of load_skill', async () => {
    const { provider, watched } = await open(await makeProject(FILES))
    const [load, read] = await provider.listTools(makeRun())
    expect([load?.name, read?.name]).to.deep.equal(['load_skill', 'read_skill_file'])
    expect(load?.description).to.match(/- greeting: How to do greeting\.\n- refunds: How to do refunds\.$/)
    expect(load?.parameters.properties).to.have.nested.property('name.enum').that.deep.equals(['greeting', 'refunds'])
    expect(watched).to.deep.equal(['skills'])
  })

  it('loads the text of a skill, with the paths of its other files', async () => {
    const { call } = await open(await makeProject(FILES))
    expect(await call('load_skill', { name: 'refunds' })).to.deep.equal({
      text: '# Refunds\n\nSee [the form](forms/form.md).\n\nFiles of this skill, for read_skill_file:\nforms/form.md\nscripts/pay.sh',
    })
    expect(await call('load_skill', { name: 'greeting' })).to.deep.equal({ text: 'Say hello.' })
  })

  it('reads files of a skill, and runs no script', async () => {
    const project = await makeProject(FILES)
    const { call } = await open(project)
    expect(await call('read_skill_file', { skill: 'refunds', path: './forms/form.md' })).to.deep.equal({
      text: 'Name: ____',
    })
    expect(await call('read_skill_file', { skill: 'refunds', path: 'scripts/pay.sh' })).to.deep.equal({
      text: 'touch ran',
    })
    expect(project.exists('ran')).to.equal(false)
  })

  it('cuts long files into pages, and hands binary ones over as attachments', async () => {
    const project = await makeProject({ ...FILES, 'skills/refunds/long.txt': 'a'.repeat(70_000) })
    await writeFile(project.path('skills/refunds/dot.png'), Buffer.from([0x89, 0x50, 0xff]))
    const { call } = await open(project)
    const { text } = await call('read_skill_file', { skill: 'refunds', path: 'long.txt' })
    expect(text).to.match(/a\n\n\[cut: 70000 characters in all; read on with offset 65536\]$/)
    const rest = await call('read_skill_file', { skill: 'refunds', path: 'long.txt', offset: 65_536 })
    expect(rest.text).to.equal('a'.repeat(70_000 - 65_536))
    expect(await call('read_skill_file', { skill: 'refunds', path: 'dot.png' })).to.deep.equal({
      text: 'dot.png is a binary file of 3 bytes.',
      attachments: [{ mediaType: 'image/png', data: Buffer.from([0x89, 0x50, 0xff]), name: 'dot.png' }],
    })
  })

  it('tells the model of skills and files that do not exist', async () => {
    const { call } = await open(await makeProject(FILES))
    for (const path of ['nothing.md', '../greeting/SKILL.md', '/etc/passwd']) {
      const { text, isError } = await call('read_skill_file', { skill: 'refunds', path })
      expect(isError).to.equal(true)
      expect(text).to.equal(
        `The skill 'refunds' has no file '${path}'. Files: SKILL.md, forms/form.md, scripts/pay.sh.`,
      )
    }
    const failure = await call('load_skill', { name: 'nothing' }).catch((error: Error) => error.message)
    expect(failure).to.match(/^Wrong arguments for 'load_skill': .*name/)
  })

  it('offers the skills that the config chooses, also of a folder that is a skill', async () => {
    const project = await makeProject(FILES)
    const names = async (config: object) => (await open(project, config)).provider.listSkills(makeRun()).map(nameOf)
    expect(await names({ exclude: ['greeting'] })).to.deep.equal(['refunds'])
    expect(await names({ folders: ['skills/greeting'] })).to.deep.equal(['greeting'])
    const failure = await names({ include: ['nothing'] }).catch((error: Error) => error.message)
    expect(failure).to.equal("There is no skill 'nothing' in the folders. Skills: greeting, refunds.")
    const twice = await names({ folders: ['skills', 'skills/greeting'] }).catch((error: Error) => error.message)
    expect(twice).to.match(/^The skill 'greeting' is in .* and in .*: rename or remove one\.$/)
  })

  it('describes each file by size and digest', async () => {
    const { provider } = await open(await makeProject(FILES), { include: ['greeting'] })
    expect(provider.listSkills(makeRun())).to.deep.equal([
      {
        name: 'greeting',
        description: 'How to do greeting.',
        frontMatter: { name: 'greeting', description: 'How to do greeting.' },
        files: [
          {
            path: 'SKILL.md',
            bytes: 68,
            sha256: 'bd2871a182117cb33a39825c6f269a56ad31f5941a67456d016a71c0014ebaa2',
            mediaType: 'text/markdown',
          },
        ],
      },
    ])
    expect(await provider.readSkillFile('refunds', 'SKILL.md', makeRun())).to.equal(undefined)
  })

  for (const [what, text, problem] of [
    ['no front matter', 'Do it.', /^skills\/a\/SKILL\.md:1: the file does not begin with front matter\.$/],
    ['the name of another folder', skill('b'), /^skills\/a\/SKILL\.md:2: name must be the name of its folder, 'a'/],
    ['a name in capitals', skill('A'), /^skills\/a\/SKILL\.md:2: name must be 1 to 64 of a-z/],
    ['no description', '---\nname: a\n---\n', /^skills\/a\/SKILL\.md:2: description must be a text of 1 to 1024/],
    ['a list as license', skill('a', '', 'license: []\n'), /^skills\/a\/SKILL\.md:4: license must be a text\.$/],
    ['a link upwards', skill('a', 'x\n[up](../../.env)'), /SKILL\.md:7: the link to '\.\.\/\.\.\/\.env' leaves/],
    ['a link to the machine', skill('a', '[p]: /etc/passwd'), /SKILL\.md:6: the link to '\/etc\/passwd' leaves/],
    ['an encoded link', skill('a', '![p](%2e%2e/x "t")'), /SKILL\.md:6: the link to '%2e%2e\/x' leaves/],
    ['a long text', skill('a', 'x'.repeat(262_144)), /SKILL\.md: the file has 2621\d\d bytes; it may have 262144\.$/],
  ] as const) {
    it(`refuses a skill with ${what}, by file and line`, async () => {
      expect(await problemOf({ 'skills/a/SKILL.md': text })).to.match(problem)
    })
  }

  it('takes addresses, anchors, inner links and examples in code', async () => {
    const text = '[a](https://example.com/../x) [b](#top) [c](sub/../x.md)\n`[d](/etc/passwd)`\n```md\n[e](../e)\n```'
    expect(await problemOf({ 'skills/a/SKILL.md': skill('a', text) })).to.equal('It was loaded.')
  })

  it('refuses links of the file system that leave the folder, and skills that are too large', async () => {
    const files = { 'skills/a/SKILL.md': skill('a') }
    const linked = await problemOf(files, ({ path }) => symlink('/etc/passwd', path('skills/a/users')))
    expect(linked).to.equal('skills/a/users: the link leaves the folder of the skill, to /etc/passwd.')
    const outside = await problemOf({}, async (project) => {
      const other = await makeProject({ 'b/SKILL.md': skill('b') })
      await project.write('skills/.keep', '')
      await symlink(other.path('b'), project.path('skills/b'))
    })
    expect(outside).to.match(/^skills\/b: the link leaves the project, to /)
    const large = await problemOf({ ...files, 'skills/a/large.bin': '' }, ({ path }) =>
      truncate(path('skills/a/large.bin'), 10 * 1024 * 1024),
    )
    expect(large).to.equal('skills/a: the skill is too large: it may have 512 files and 8 MiB.')
  })

  it('reads no file that became a link, a pipe or too large, and none of a folder that became a link', async () => {
    const project = await makeProject(FILES)
    const outside = await makeProject({ 'form.md': 'canary', 'forms/form.md': 'canary' })
    const { call, provider } = await open(project)
    const read = (path: string) =>
      call('read_skill_file', { skill: 'refunds', path }).catch((error: Error) => ({ text: error.message }))
    const problem = "The file 'forms/form.md' of the skill 'refunds' cannot be read: "
    const leaves = `${problem}a link leads out of its folder.`
    await project.remove('skills/refunds/forms/form.md')
    await symlink(outside.path('form.md'), project.path('skills/refunds/forms/form.md'))
    expect((await read('forms/form.md')).text).to.equal(leaves)
    await project.remove('skills/refunds/forms')
    await symlink(outside.path('forms'), project.path('skills/refunds/forms'))
    expect((await read('forms/form.md')).text).to.equal(leaves)
    await project.remove('skills/refunds/scripts/pay.sh')
    await promisify(execFile)('mkfifo', [project.path('skills/refunds/scripts/pay.sh')])
    const script = "The file 'scripts/pay.sh' of the skill 'refunds' cannot be read: "
    expect((await read('scripts/pay.sh')).text).to.equal(`${script}it is not a regular file.`)
    await project.remove('skills/refunds/scripts/pay.sh')
    await project.write('skills/refunds/scripts/pay.sh', '')
    await truncate(project.path('skills/refunds/scripts/pay.sh'), 9 * 1024 * 1024)
    expect((await read('scripts/pay.sh')).text).to.equal(`${script}it has more than 8388608 bytes.`)
    await project.remove('skills/refunds')
    await symlink(outside.dir, project.path('skills/refunds'))
    expect((await read('forms/form.md')).text).to.equal(leaves)
    const overMcp = provider.readSkillFile('refunds', 'forms/form.md', makeRun())
    expect(await Promise.resolve(overMcp).catch((error: Error) => error.message)).to.equal(leaves)
  })

  it('loads nothing from outside while a file and a link to elsewhere take turns', async () => {
    const project = await makeProject({ 'skills/a/SKILL.md': skill('a') })
    const outside = await makeProject({ 'SKILL.md': skill('a').replace('description: ', 'description: canary ') })
    const stop = takeTurns(project.path('skills/a/SKILL.md'), skill('a'), outside.path('SKILL.md'))
    const seen: string[] = []
    const hasLoaded = () => seen.some((each) => each.startsWith('loaded: '))
    // On a busy machine thousands of tries may all meet the link.
    const giveUpMs = performance.now() + 30_000
    for (let count = 0; count < 200 || (performance.now() < giveUpMs && !hasLoaded()); count++) {
      const loaded = loadSkills(project.path('skills'), project.dir, () => {})
      seen.push(await loaded.then(([first]) => `loaded: ${first?.description}`, messageOf))
      // Otherwise each try may meet the same of both, turn for turn.
      if (count % 3 === 0) await nextTurn()
    }
    stop()
    expect(seen.filter((each) => each.includes('canary'))).to.deep.equal([])
    expect(hasLoaded()).to.equal(true)
  })

  it('refuses a SKILL.md that is a link or a pipe', async () => {
    const problem = 'skills/a/SKILL.md: it must be a file, and is a link or something else.'
    const linked = await problemOf({ 'skills/a/text.md': skill('a') }, ({ path }) =>
      symlink('text.md', path('skills/a/SKILL.md')),
    )
    const piped = await problemOf({ 'skills/a/text.md': '' }, ({ path }) =>
      promisify(execFile)('mkfifo', [path('skills/a/SKILL.md')]),
    )
    expect([linked, piped]).to.deep.equal([problem, problem])
  })

  it('refuses a folder that is missing or has no skill', async () => {
    expect(await problemOf({})).to.equal('skills: there is no such folder.')
    expect(await problemOf({ 'skills/x/readme.md': '' })).to.equal('skills: there is no skill in this folder.')
  })
})

function nameOf({ name }: { readonly name: string }): string {
  return name
}
