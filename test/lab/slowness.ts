/**
 * How many times slower this machine is than others; an emulated one sets the variable. Tests wait longer by this factor, and
 * check less often, because each check starts a program and so delays what it waits for.
 */
export const SLOWNESS = Number(process.env.SLOWNESS ?? 1);
