import { testTable } from "../packets/iptables-table.ts";

testTable("legacy");
