/** Opens an address with the system's opener. Without one nothing happens: the address is on the screen. */
export async function openBrowser(url: string): Promise<void> {
  const { execa } = await import('execa')
  const [command, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  await execa(command as string, [...args, url], { reject: false, stdio: 'ignore' })
}
