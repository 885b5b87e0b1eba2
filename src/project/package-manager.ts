export const PACKAGE_MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'] as const
export type PackageManager = (typeof PACKAGE_MANAGERS)[number]

/** Package manager that started this process (`npm create`, `pnpm dlx`, `npx`); undefined when none did. */
export function callingPackageManager(environment: NodeJS.ProcessEnv): PackageManager | undefined {
  const [name] = (environment.npm_config_user_agent ?? '').split('/')
  return PACKAGE_MANAGERS.find((known) => known === name)
}
