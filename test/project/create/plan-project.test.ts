import { expect } from 'chai'
import { type ProjectChoices, planProject } from '../../../src/project/create/plan-project.ts'

async function textOf(path: string, choices: Partial<ProjectChoices>): Promise<string | undefined> {
  const plan = await planProject({ name: 'demo', llm: 'offline', ...choices })
  return plan.find((file) => file.path === path)?.content.toString()
}

describe('planProject', () => {
  const NAMES: readonly (readonly [string, string])[] = [
    ['demo', 'demo'],
    ['/somewhere/My Agents', 'my-agents'],
    ['.hidden', 'hidden'],
    ['日本', 'my-agents'],
  ]
  for (const [name, packageName] of NAMES) {
    it(`names the package of '${name}' '${packageName}'`, async () => {
      expect(JSON.parse((await textOf('package.json', { name })) ?? '').name).to.equal(packageName)
    })
  }

  it('leaves no placeholder in any file', async () => {
    const plan = await planProject({ name: 'demo', llm: 'offline' })
    expect(plan.filter(({ content }) => content.toString().includes('PROJECT_NAME'))).to.deep.equal([])
  })

  it('writes the Python version to a file if one is given', async () => {
    expect(await textOf('.python-version', { python: '3.12' })).to.equal('3.12\n')
    expect(await textOf('.python-version', {})).to.equal(undefined)
  })

  it('makes git ignore secret and generated files', async () => {
    expect((await textOf('.gitignore', {}))?.trim().split('\n')).to.include.members([
      '.env',
      'debug/',
      'responses/',
      'memory/',
    ])
  })
})
